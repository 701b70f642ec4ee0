#pragma once
#include <levin/core/options/auto_int.h>
#include <levin/modules/lr_schedulers/anneal_strategy.h>
#include <levin/modules/lr_schedulers/engine/per_group.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>
#include <levin/modules/lr_schedulers/when_longer.h>

namespace levin {

/// Arguments of OneCycleLR, with PyTorch's names and defaults.
struct OneCycleLROptions {
  PerGroup max_lr = LEVIN_OPTION(max_lr, {}, "Highest learning rate, of all or of each parameter group; required");
  AutoInt total_steps =
      LEVIN_OPTION(total_steps, "auto",
                   "Steps of the cycle; auto: epochs x steps_per_epoch, or the optimizer steps of the run", {.min = 1});
  std::optional<int64_t> epochs = LEVIN_OPTION(epochs, {}, "Epochs of the cycle", {.min = 1});
  std::optional<int64_t> steps_per_epoch = LEVIN_OPTION(steps_per_epoch, {}, "Steps of an epoch", {.min = 1});
  double pct_start = LEVIN_OPTION(pct_start, 0.3, "Share of the cycle in which the rate rises", {.min = 0, .max = 1});
  Choice<AnnealStrategy> anneal_strategy = LEVIN_OPTION(anneal_strategy, AnnealStrategy::Cos, "Form of rise and fall");
  bool cycle_momentum = LEVIN_OPTION(cycle_momentum, true, "Let momentum or beta1 fall while the rate rises");
  PerGroup base_momentum = LEVIN_OPTION(base_momentum, 0.85, "Lowest momentum, of all or of each parameter group");
  PerGroup max_momentum = LEVIN_OPTION(max_momentum, 0.95, "Highest momentum, of all or of each parameter group");
  double div_factor = LEVIN_OPTION(div_factor, 25, "max_lr / first rate", {.exclusive_min = 0});
  double final_div_factor = LEVIN_OPTION(final_div_factor, 1e4, "First rate / last rate", {.exclusive_min = 0});
  bool three_phase = LEVIN_OPTION(three_phase, false, "Fall as long as the rise, then on to the last rate");
  Choice<WhenLonger> when_longer = LEVIN_OPTION(
      when_longer, WhenLonger::Refuse,
      "Steps beyond total_steps, as of a finished run that is continued: refuse them, hold the last rates, or "
      "stretch the cycle to the new length from the present step on");
};

/// The 1cycle policy: the learning rate rises to `max_lr` and falls to almost 0; the momentum changes inversely. Steps
/// per optimizer step: `OneCycleLR({.max_lr = 0.01}, {.interval = "step"})`.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html
class OneCycleLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit OneCycleLR(OneCycleLROptions options, LRSchedulerConfig when = {});
  /// Throws levin::UsageError if the optimizer has neither momentum nor betas to cycle, if lists do not match its
  /// groups, and for `total_steps` "auto" in a run of unknown length. A step beyond `total_steps` throws
  /// levin::UsageError unless `when_longer` is Hold.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  OneCycleLROptions options_;
};

}  // namespace levin
