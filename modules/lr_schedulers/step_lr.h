#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of StepLR, with PyTorch's names and defaults.
struct StepLROptions {
  std::optional<int64_t> step_size =
      LEVIN_OPTION(step_size, {}, "Epochs (or steps) between two decays; required", {.min = 1});
  double gamma = LEVIN_OPTION(gamma, 0.1, "Factor of each decay");
};

/// Multiplies the learning rate by `gamma` every `step_size` epochs (or steps).
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.StepLR.html
class StepLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit StepLR(StepLROptions options, LRSchedulerConfig when = {});
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  StepLROptions options_;
};

}  // namespace levin
