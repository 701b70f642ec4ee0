#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of PolynomialLR, with PyTorch's names and defaults.
struct PolynomialLROptions {
  int64_t total_iters = LEVIN_OPTION(total_iters, 5, "Epochs (or steps) until the rate is 0", {.min = 0});
  double power = LEVIN_OPTION(power, 1, "Power of the polynomial");
};

/// Decreases the learning rate to 0 in proportion to (1 - epoch / total_iters) ^ power.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.PolynomialLR.html
class PolynomialLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit PolynomialLR(PolynomialLROptions options, LRSchedulerConfig when = {});
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  PolynomialLROptions options_;
};

}  // namespace levin
