#pragma once
#include <levin/modules/lr_schedulers/engine/per_group.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// How the heights of cycles change: not at all, to half in each cycle, or by the factor gamma in each step.
enum class CyclicMode : uint8_t { Triangular, Triangular2, ExpRange };
template <>
inline constexpr auto kWords<CyclicMode> = words_of<CyclicMode>({{"triangular", CyclicMode::Triangular},
                                                                 {"triangular2", CyclicMode::Triangular2},
                                                                 {"exp_range", CyclicMode::ExpRange}});

/// What the scaling of cycles is a function of: the number of the cycle, or of the step.
enum class CyclicScaleMode : uint8_t { Cycle, Iterations };
template <>
inline constexpr auto kWords<CyclicScaleMode> =
    words_of<CyclicScaleMode>({{"cycle", CyclicScaleMode::Cycle}, {"iterations", CyclicScaleMode::Iterations}});

/// Arguments of CyclicLR, with PyTorch's names and defaults.
struct CyclicLROptions {
  PerGroup base_lr = LEVIN_OPTION(base_lr, {}, "Lowest learning rate, of all or of each parameter group; required");
  PerGroup max_lr = LEVIN_OPTION(max_lr, {}, "Highest learning rate, of all or of each parameter group; required");
  int64_t step_size_up = LEVIN_OPTION(step_size_up, 2000, "Steps of the rise", {.min = 1});
  std::optional<int64_t> step_size_down =
      LEVIN_OPTION(step_size_down, {}, "Steps of the fall; unset: as many", {.min = 0});
  Choice<CyclicMode> mode =
      LEVIN_OPTION(mode, CyclicMode::Triangular, "Scaling of the cycles: none, half each cycle, or gamma ^ step");
  double gamma = LEVIN_OPTION(gamma, 1, "Factor of each step in mode exp_range");
  /// Scaling as a function of the cycle number (from 1) or of the step; replaces `mode`. C++ only.
  std::function<double(double)> scale_fn = {};
  Choice<CyclicScaleMode> scale_mode =
      LEVIN_OPTION(scale_mode, CyclicScaleMode::Cycle, "What scale_fn is a function of");
  bool cycle_momentum = LEVIN_OPTION(cycle_momentum, true, "Let momentum or beta1 fall while the rate rises");
  PerGroup base_momentum = LEVIN_OPTION(base_momentum, 0.8, "Lowest momentum, of all or of each parameter group");
  PerGroup max_momentum = LEVIN_OPTION(max_momentum, 0.9, "Highest momentum, of all or of each parameter group");
};

/// Cycles the learning rate between `base_lr` and `max_lr`, and the momentum inversely
/// (https://arxiv.org/abs/1506.01186). Steps per optimizer step: `CyclicLR({...}, {.interval = "step"})`.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CyclicLR.html
class CyclicLR : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit CyclicLR(CyclicLROptions options, LRSchedulerConfig when = {});
  /// Throws levin::UsageError if the optimizer has neither momentum nor betas to cycle, or if lists do not match its
  /// groups.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  CyclicLROptions options_;
};

}  // namespace levin
