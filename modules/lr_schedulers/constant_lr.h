#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of ConstantLR, with PyTorch's names and defaults.
struct ConstantLROptions {
  double factor = LEVIN_OPTION(factor, 1.0 / 3, "Factor of the rate at first", {.max = 1, .exclusive_min = 0});
  int64_t total_iters =
      LEVIN_OPTION(total_iters, 5, "Epochs (or steps) until the full rate; 0: it stays scaled", {.min = 0});
};

/// Multiplies the learning rate by `factor` for the first `total_iters` epochs (or steps), then restores it.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ConstantLR.html
class ConstantLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit ConstantLR(ConstantLROptions options, LRSchedulerConfig when = {});
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  ConstantLROptions options_;
};

}  // namespace levin
