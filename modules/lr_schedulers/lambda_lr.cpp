#include <levin/modules/lr_schedulers/lambda_lr.h>

namespace levin {
namespace {

class BoundLambdaLR : public LRScheduler {
 public:
  BoundLambdaLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context, const LRFunctions& functions)
      : LRScheduler(optimizer, context), functions_(functions.for_groups(base_lrs_.size(), "LambdaLR.lr_lambda")) {
    start();
  }

  bool can_advance() const override { return true; }

 private:
  std::vector<double> next_lr(const std::vector<double>& /*current*/) override {
    std::vector<double> rates = base_lrs_;
    for (size_t i = 0; i < rates.size(); ++i) rates[i] *= functions_[i](last_epoch());
    return rates;
  }

  std::vector<LRFunctions::Function> functions_;
};

}  // namespace

LambdaLR::LambdaLR(LambdaLROptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(std::move(options)) {
  options_.lr_lambda.check("LambdaLR.lr_lambda");
}

std::unique_ptr<LRScheduler> LambdaLR::bind(torch::optim::Optimizer& optimizer,
                                            const LRSchedulerContext& context) const {
  return std::make_unique<BoundLambdaLR>(optimizer, context, options_.lr_lambda);
}

}  // namespace levin
