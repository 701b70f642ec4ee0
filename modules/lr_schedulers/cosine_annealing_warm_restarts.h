#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of CosineAnnealingWarmRestarts, with PyTorch's names and defaults.
struct CosineAnnealingWarmRestartsOptions {
  std::optional<int64_t> T_0 = LEVIN_OPTION(T_0, {}, "Epochs (or steps) until the first restart; required", {.min = 1});
  int64_t T_mult = LEVIN_OPTION(T_mult, 1, "Growth of the time between two restarts", {.min = 1});
  double eta_min = LEVIN_OPTION(eta_min, 0, "Lowest learning rate");
};

/// Decreases the learning rate to `eta_min` along a half cosine and restarts from the full rate: first after `T_0`
/// epochs (or steps), then after `T_0 * T_mult`, and so on (SGDR, https://arxiv.org/abs/1608.03983).
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.html
class CosineAnnealingWarmRestarts : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit CosineAnnealingWarmRestarts(CosineAnnealingWarmRestartsOptions options, LRSchedulerConfig when = {});
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  CosineAnnealingWarmRestartsOptions options_;
};

}  // namespace levin
