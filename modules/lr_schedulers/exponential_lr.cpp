#include <levin/modules/lr_schedulers/exponential_lr.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/engine/factor_lr.h>

namespace levin {
namespace {

class BoundExponentialLR : public FactorLR {
 public:
  BoundExponentialLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context, double gamma)
      : FactorLR(optimizer, context), gamma_(gamma) {
    keep_in_state("gamma", &gamma_);
    start();
  }

 private:
  double factor() const override { return in_initial_step() ? 1 : gamma_; }

  double gamma_;
};

}  // namespace

ExponentialLR::ExponentialLR(ExponentialLROptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(options) {
  if (!options_.gamma) throw UsageError("ExponentialLR.gamma: missing; set the factor of each epoch (or step)");
}

std::unique_ptr<LRScheduler> ExponentialLR::bind(torch::optim::Optimizer& optimizer,
                                                 const LRSchedulerContext& context) const {
  return std::make_unique<BoundExponentialLR>(optimizer, context, *options_.gamma);
}

}  // namespace levin
