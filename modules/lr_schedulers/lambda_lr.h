#pragma once
#include <levin/modules/lr_schedulers/engine/lr_functions.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of LambdaLR, with PyTorch's names and defaults.
struct LambdaLROptions {
  LRFunctions lr_lambda =
      LEVIN_OPTION(lr_lambda, {}, "Factor of the rate in each epoch: a function, or one for each group; in C++ only");
};

/// Sets the learning rate to its initial value times a function of the epoch (or step): `LambdaLR({.lr_lambda =
/// [](int64_t epoch) { return std::pow(0.95, epoch); }})`.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html
class LambdaLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError if there is no function.
  explicit LambdaLR(LambdaLROptions options, LRSchedulerConfig when = {});
  /// Throws levin::UsageError if the number of functions does not match the optimizer's groups.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  LambdaLROptions options_;
};

}  // namespace levin
