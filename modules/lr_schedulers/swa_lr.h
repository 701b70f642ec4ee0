#pragma once
#include <levin/modules/lr_schedulers/anneal_strategy.h>
#include <levin/modules/lr_schedulers/engine/per_group.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// Arguments of SWALR, with PyTorch's names and defaults.
struct SWALROptions {
  PerGroup swa_lr = LEVIN_OPTION(swa_lr, {}, "Learning rate of the averaging, of all or of each group; required");
  int64_t anneal_epochs = LEVIN_OPTION(anneal_epochs, 10, "Epochs (or steps) until the rate is reached", {.min = 0});
  Choice<AnnealStrategy> anneal_strategy = LEVIN_OPTION(anneal_strategy, AnnealStrategy::Cos, "Form of the way there");
};

/// Moves the learning rate from its present value to `swa_lr` and holds it there, for stochastic weight averaging.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.swa_utils.SWALR.html
class SWALR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit SWALR(SWALROptions options, LRSchedulerConfig when = {});
  /// Throws levin::UsageError if a list of rates does not match the optimizer's groups.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  SWALROptions options_;
};

}  // namespace levin
