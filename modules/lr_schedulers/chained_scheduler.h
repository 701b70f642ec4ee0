#pragma once
#include <levin/modules/lr_schedulers/engine/nested_lr_scheduler.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of ChainedScheduler, with PyTorch's names and defaults.
struct ChainedSchedulerOptions {
  std::vector<NestedLRScheduler> schedulers = LEVIN_OPTION(schedulers, {}, "Schedulers that step together; required");
};

/// Schedulers that step together, in this order; each changes the rates that the one before it left:
/// `ChainedScheduler({.schedulers = {ConstantLR({.factor = 0.1}), ExponentialLR({.gamma = 0.9})}})`.
/// Those that set the rates outright (LambdaLR, CyclicLR, OneCycleLR, CosineAnnealingWarmRestarts, WarmupCosine) undo
/// what came before them.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ChainedScheduler.html
class ChainedScheduler : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options, and for a scheduler with an interval or monitor of its own.
  explicit ChainedScheduler(ChainedSchedulerOptions options, LRSchedulerConfig when = {});
  /// Throws levin::UsageError for schedulers that follow a metric.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  ChainedSchedulerOptions options_;
};

}  // namespace levin
