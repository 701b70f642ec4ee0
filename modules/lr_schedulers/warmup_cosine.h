#pragma once
#include <levin/core/options/auto_int.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/modules/lr_schedulers/when_longer.h>

namespace levin {

/// Arguments of WarmupCosine.
struct WarmupCosineOptions {
  std::optional<int64_t> warmup_steps =
      LEVIN_OPTION(warmup_steps, {}, "Steps, or tokens, in which the rate rises; required", {.min = 0});
  AutoInt total_steps = LEVIN_OPTION(
      total_steps, "auto", "Steps, or tokens, until the lowest rate; auto: the optimizer steps of the run", {.min = 1});
  double warmup_start_factor =
      LEVIN_OPTION(warmup_start_factor, 0.01, "Factor of the rate at first", {.min = 0, .max = 1});
  double eta_min = LEVIN_OPTION(eta_min, 0, "Lowest learning rate");
  Choice<WhenLonger> when_longer = LEVIN_OPTION(
      when_longer, WhenLonger::Hold,
      "A run that is resumed with more steps than total_steps was: hold the lowest rate for them, or stretch "
      "the schedule to the new length from the present step on",
      {.choices = {"hold", "stretch"}});
};

/// Increases the learning rate linearly from `warmup_start_factor` times its value over `warmup_steps`, then decreases
/// it along a half cosine to `eta_min` at `total_steps`, where it stays. Steps per optimizer step:
/// `WarmupCosine({.warmup_steps = 500}, {.interval = "step"})`.
///
/// It sets absolute rates, so it equals Python's LambdaLR with this function; up to `total_steps` it equals
/// SequentialLR of LinearLR (total_iters = warmup_steps) and CosineAnnealingLR (T_max = total_steps - warmup_steps).
class WarmupCosine : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit WarmupCosine(WarmupCosineOptions options, LRSchedulerConfig when = {});
  /// Throws levin::UsageError if a given `total_steps` is not greater than `warmup_steps`, and for "auto" in a run of
  /// unknown length. With "auto" a run that ends within the warm-up is its beginning, with a warning.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  WarmupCosineOptions options_;
};

}  // namespace levin
