#include <levin/modules/lr_schedulers/cyclic_lr.h>
#include <levin/core/system/error.h>
#include <levin/modules/lr_schedulers/engine/cycled_momentum.h>
#include <torch/optim/optimizer.h>

#include <cmath>

namespace levin {
namespace {

class BoundCyclicLR : public LRScheduler {
 public:
  /// The optimizer's rates are already `base_lr`.
  BoundCyclicLR(torch::optim::Optimizer& optimizer, const LRSchedulerContext& context, const CyclicLROptions& options,
                std::vector<double> base_lr)
      : LRScheduler(optimizer, context),
        max_lrs_(options.max_lr.for_groups(base_lr.size(), "CyclicLR.max_lr")),
        mode_(options.mode),
        gamma_(options.gamma),
        scale_fn_(options.scale_fn),
        scale_mode_(options.scale_mode),
        cycle_momentum_(options.cycle_momentum) {
    base_lrs_ = std::move(base_lr);
    const auto up = static_cast<double>(options.step_size_up);
    total_size_ = up + static_cast<double>(options.step_size_down.value_or(options.step_size_up));
    step_ratio_ = up / total_size_;
    if (!scale_fn_) scale_mode_ = mode_ == CyclicMode::ExpRange ? CyclicScaleMode::Iterations : CyclicScaleMode::Cycle;
    keep_in_state("max_lrs", &max_lrs_);
    keep_in_state("total_size", &total_size_);
    keep_in_state("step_ratio", &step_ratio_);
    keep_in_state("mode", &mode_);
    keep_in_state("gamma", &gamma_);
    keep_in_state("scale_mode", &scale_mode_);
    keep_in_state("cycle_momentum", &cycle_momentum_);
    if (cycle_momentum_) {
      base_momentums_ = options.base_momentum.for_groups(base_lrs_.size(), "CyclicLR.base_momentum");
      max_momentums_ = options.max_momentum.for_groups(base_lrs_.size(), "CyclicLR.max_momentum");
      keep_in_state("base_momentums", &base_momentums_);
      keep_in_state("max_momentums", &max_momentums_);
    }
    start();
  }

 private:
  std::vector<double> next_lr(const std::vector<double>& /*current*/) override {
    const double progress = 1 + static_cast<double>(last_epoch()) / total_size_;
    const double cycle = std::floor(progress);
    const double x = progress - cycle;
    const double height = x <= step_ratio_ ? x / step_ratio_ : (x - 1) / (step_ratio_ - 1);
    const double scaling = scale(scale_mode_ == CyclicScaleMode::Cycle ? cycle : static_cast<double>(last_epoch()));
    std::vector<double> rates = base_lrs_;
    for (size_t i = 0; i < rates.size(); ++i) {
      rates[i] += (max_lrs_[i] - base_lrs_[i]) * height * scaling;
      if (!cycle_momentum_) continue;
      const double fall = (max_momentums_[i] - base_momentums_[i]) * height * scaling;
      set_cycled_momentum(optimizer_, i, max_momentums_[i] - fall, "CyclicLR");
    }
    return rates;
  }

  /// Returns the fraction of the full amplitude in a cycle (from 1) or step.
  double scale(double cycle_or_step) const {
    if (scale_fn_) return scale_fn_(cycle_or_step);
    if (mode_ == CyclicMode::Triangular2) return 1 / std::pow(2, cycle_or_step - 1);
    return mode_ == CyclicMode::ExpRange ? std::pow(gamma_, cycle_or_step) : 1;
  }

  std::vector<double> max_lrs_;
  double total_size_ = 0, step_ratio_ = 0;
  Choice<CyclicMode> mode_;
  double gamma_;
  std::function<double(double)> scale_fn_;
  Choice<CyclicScaleMode> scale_mode_;
  bool cycle_momentum_;
  std::vector<double> base_momentums_ = {}, max_momentums_ = {};
};

}  // namespace

CyclicLR::CyclicLR(CyclicLROptions options, LRSchedulerConfig when)
    : LRSchedulerSpec(std::move(when)), options_(std::move(options)) {
  schema_of<CyclicLROptions>().check(&options_, "CyclicLR");
  if (options_.base_lr.empty()) throw UsageError("CyclicLR.base_lr: missing; set the lowest learning rate");
  if (options_.max_lr.empty()) throw UsageError("CyclicLR.max_lr: missing; set the highest learning rate");
}

std::unique_ptr<LRScheduler> CyclicLR::bind(torch::optim::Optimizer& optimizer,
                                            const LRSchedulerContext& context) const {
  std::vector<torch::optim::OptimizerParamGroup>& groups = optimizer.param_groups();
  const std::vector<double> base_lr = options_.base_lr.for_groups(groups.size(), "CyclicLR.base_lr");
  // Sets the rates before the base class reads them: schedulers that are bound later start from these rates, as in
  // Python.
  for (size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(base_lr[i]);
  return std::make_unique<BoundCyclicLR>(optimizer, context, options_, base_lr);
}

}  // namespace levin
