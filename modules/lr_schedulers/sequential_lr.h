#pragma once
#include <levin/modules/lr_schedulers/engine/nested_lr_scheduler.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of SequentialLR, with PyTorch's names and defaults.
struct SequentialLROptions {
  std::vector<NestedLRScheduler> schedulers = LEVIN_OPTION(schedulers, {}, "Schedulers, one after the other; required");
  std::vector<int64_t> milestones =
      LEVIN_OPTION(milestones, {}, "Epochs (or steps) at which the next one begins; one fewer", {.min = 0});
};

/// Schedulers one after the other; at each of `milestones` the next one begins, from the initial rates:
///
///     SequentialLR({.schedulers = {LinearLR({.total_iters = 100}), CosineAnnealingLR({.T_max = 900})},
///                   .milestones = {100}}, {.interval = "step"})
///
/// SequentialLR and ChainedScheduler can stand first in the list only: they cannot begin anew. As in Python, a
/// SequentialLR that stands first in another is one step ahead of its milestones.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.SequentialLR.html
class SequentialLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options, and for a scheduler with an interval or monitor of its own.
  explicit SequentialLR(SequentialLROptions options, LRSchedulerConfig when = {});
  /// Throws levin::UsageError for schedulers that follow a metric or cannot begin anew.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  SequentialLROptions options_;
};

}  // namespace levin
