#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of CosineAnnealingLR, with PyTorch's names and defaults.
struct CosineAnnealingLROptions {
  std::optional<int64_t> T_max =
      LEVIN_OPTION(T_max, {}, "Epochs (or steps) from the highest rate to the lowest; required", {.min = 1});
  double eta_min = LEVIN_OPTION(eta_min, 0, "Lowest learning rate");
};

/// Decreases the learning rate to `eta_min` along a half cosine of `T_max` epochs (or steps); afterwards it rises
/// again.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html
class CosineAnnealingLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit CosineAnnealingLR(CosineAnnealingLROptions options, LRSchedulerConfig when = {});
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  CosineAnnealingLROptions options_;
};

}  // namespace levin
