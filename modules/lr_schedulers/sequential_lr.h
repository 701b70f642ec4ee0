#pragma once
#include <levin/modules/lr_schedulers/engine/nested_lr_scheduler.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of SequentialLR, with PyTorch's names and defaults.
struct SequentialLROptions {
  std::vector<NestedLRScheduler> schedulers = LEVIN_OPTION(schedulers, {}, "Schedulers, one after the other; required");
  std::vector<int64_t> milestones = LEVIN_OPTION(
      milestones, {}, "Epochs (or steps) at which the next scheduler begins: one fewer than schedulers", {.min = 0});
};

/// Runs schedulers in sequence; at each of `milestones` the next one starts, from the initial rates:
///
///     SequentialLR({.schedulers = {LinearLR({.total_iters = 100}), CosineAnnealingLR({.T_max = 900})},
///                   .milestones = {100}}, {.interval = "step"})
///
/// SequentialLR and ChainedScheduler can only be first in the list, since they cannot restart. As in Python, a
/// SequentialLR that is first in another SequentialLR is one step ahead of its milestones.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.SequentialLR.html
class SequentialLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options, and for an inner scheduler that sets its own interval or monitor.
  explicit SequentialLR(SequentialLROptions options, LRSchedulerConfig when = {});
  /// Throws levin::UsageError for schedulers that follow a metric or cannot restart.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  SequentialLROptions options_;
};

}  // namespace levin
