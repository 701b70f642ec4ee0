#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of ExponentialLR, with PyTorch's names and defaults.
struct ExponentialLROptions {
  std::optional<double> gamma = LEVIN_OPTION(gamma, {}, "Factor of each epoch (or step); required");
};

/// Multiplies the learning rate by `gamma` in every epoch (or step).
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ExponentialLR.html
class ExponentialLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit ExponentialLR(ExponentialLROptions options, LRSchedulerConfig when = {});
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  ExponentialLROptions options_;
};

}  // namespace levin
