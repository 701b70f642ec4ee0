#pragma once
#include <levin/modules/lr_schedulers/engine/lr_functions.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of MultiplicativeLR, with PyTorch's names and defaults.
struct MultiplicativeLROptions {
  LRFunctions lr_lambda =
      LEVIN_OPTION(lr_lambda, {}, "Factor of each epoch: a function, or one for each group; in C++ only");
};

/// Multiplies the learning rate by a function of the epoch (or step), from the first step on.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiplicativeLR.html
class MultiplicativeLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError if there is no function.
  explicit MultiplicativeLR(MultiplicativeLROptions options, LRSchedulerConfig when = {});
  /// Throws levin::UsageError if the number of functions does not match the optimizer's groups.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  MultiplicativeLROptions options_;
};

}  // namespace levin
