#include <levin/modules/lr_schedulers/constant_lr.h>
#include <levin/modules/lr_schedulers/engine/factor_lr.h>

namespace levin {
namespace {

class BoundConstantLR : public FactorLR {
 public:
  BoundConstantLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context,
                  const ConstantLROptions& options)
      : FactorLR(optimizer, context), factor_(options.factor), total_iters_(options.total_iters) {
    keep_in_state("factor", &factor_);
    keep_in_state("total_iters", &total_iters_);
    start();
  }

 private:
  double factor() const override {
    if (last_epoch() == 0) return factor_;
    return last_epoch() == total_iters_ ? 1.0 / factor_ : 1;
  }
  double first_factor() const override { return total_iters_ > 0 ? factor_ : 1; }

  double factor_;
  int64_t total_iters_;
};

}  // namespace

ConstantLR::ConstantLR(ConstantLROptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(options) {
  schema_of<ConstantLROptions>().check(&options_, "ConstantLR");
}

std::unique_ptr<LRScheduler> ConstantLR::bind(torch::optim::Optimizer& optimizer,
                                              const LRSchedulerContext& context) const {
  return std::make_unique<BoundConstantLR>(optimizer, context, options_);
}

}  // namespace levin
