#include <levin/modules/lr_schedulers/multiplicative_lr.h>

namespace levin {
namespace {

class BoundMultiplicativeLR : public LRScheduler {
 public:
  BoundMultiplicativeLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context,
                        const LRFunctions& functions)
      : LRScheduler(optimizer, context),
        functions_(functions.for_groups(base_lrs_.size(), "MultiplicativeLR.lr_lambda")) {
    start();
  }

 private:
  // A restart also continues from the current rates, as in Python.
  std::vector<double> next_lr(const std::vector<double>& current) override {
    std::vector<double> rates = current;
    if (in_initial_step()) return rates;
    for (size_t i = 0; i < base_lrs_.size(); ++i) rates[i] *= functions_[i](last_epoch());
    return rates;
  }

  std::vector<LRFunctions::Function> functions_;
};

}  // namespace

MultiplicativeLR::MultiplicativeLR(MultiplicativeLROptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(std::move(options)) {
  options_.lr_lambda.check("MultiplicativeLR.lr_lambda");
}

std::unique_ptr<LRScheduler> MultiplicativeLR::bind(torch::optim::Optimizer& optimizer,
                                                    const LRSchedulerContext& context) const {
  return std::make_unique<BoundMultiplicativeLR>(optimizer, context, options_.lr_lambda);
}

}  // namespace levin
