#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of LinearLR, with PyTorch's names and defaults.
struct LinearLROptions {
  double start_factor =
      LEVIN_OPTION(start_factor, 1.0 / 3, "Factor of the rate at first", {.max = 1, .exclusive_min = 0});
  double end_factor = LEVIN_OPTION(end_factor, 1, "Factor of the rate in the end", {.min = 0, .max = 1});
  int64_t total_iters = LEVIN_OPTION(total_iters, 5, "Epochs (or steps) from the first factor to the last", {.min = 0});
};

/// Warm-up: changes the learning rate linearly from `start_factor` to `end_factor` times its value.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LinearLR.html
class LinearLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit LinearLR(LinearLROptions options, LRSchedulerConfig when = {});
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  LinearLROptions options_;
};

}  // namespace levin
