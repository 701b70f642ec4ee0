#pragma once
#include <levin/modules/lr_schedulers/engine/nested_lr_scheduler.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of ChainedScheduler, with PyTorch's names and defaults.
struct ChainedSchedulerOptions {
  std::vector<NestedLRScheduler> schedulers = LEVIN_OPTION(schedulers, {}, "Schedulers that step together; required");
};

/// Schedulers that step together, in this order; each modifies the rates set by the one before:
/// `ChainedScheduler({.schedulers = {ConstantLR({.factor = 0.1}), ExponentialLR({.gamma = 0.9})}})`. Schedulers that
/// set absolute rates (LambdaLR, CyclicLR, OneCycleLR, CosineAnnealingWarmRestarts, WarmupCosine) override those before
/// them.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ChainedScheduler.html
class ChainedScheduler : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options, and for an inner scheduler that sets its own interval or monitor.
  explicit ChainedScheduler(ChainedSchedulerOptions options, LRSchedulerConfig when = {});
  /// Throws levin::UsageError for schedulers that follow a metric.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  ChainedSchedulerOptions options_;
};

}  // namespace levin
