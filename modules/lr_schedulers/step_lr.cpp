#include <levin/modules/lr_schedulers/step_lr.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/engine/factor_lr.h>

namespace levin {
namespace {

class BoundStepLR : public FactorLR {
 public:
  BoundStepLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context, const StepLROptions& options)
      : FactorLR(optimizer, context), step_size_(*options.step_size), gamma_(options.gamma) {
    keep_in_state("step_size", &step_size_);
    keep_in_state("gamma", &gamma_);
    start();
  }

 private:
  double factor() const override { return last_epoch() != 0 && last_epoch() % step_size_ == 0 ? gamma_ : 1; }

  int64_t step_size_;
  double gamma_;
};

}  // namespace

StepLR::StepLR(StepLROptions options, LRSchedulerConfig when) : LRSchedulerSpec(std::move(when)), options_(options) {
  if (!options_.step_size) throw UsageError("StepLR.step_size: missing; set the epochs (or steps) between two decays");
  schema_of<StepLROptions>().check(&options_, "StepLR");
}

std::unique_ptr<LRScheduler> StepLR::bind(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context) const {
  return std::make_unique<BoundStepLR>(optimizer, context, options_);
}

}  // namespace levin
