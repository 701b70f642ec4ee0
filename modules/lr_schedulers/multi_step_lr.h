#pragma once
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of MultiStepLR, with PyTorch's names and defaults.
struct MultiStepLROptions {
  std::vector<int64_t> milestones =
      LEVIN_OPTION(milestones, {}, "Epochs (or steps) at which the rate decays, in any order; required");
  double gamma = LEVIN_OPTION(gamma, 0.1, "Factor of each decay");
};

/// Multiplies the learning rate by `gamma` at each of `milestones`; a duplicate milestone counts twice.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiStepLR.html
class MultiStepLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit MultiStepLR(MultiStepLROptions options, LRSchedulerConfig when = {});
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  MultiStepLROptions options_;
};

}  // namespace levin
