#pragma once
#include <levin/core/options/metric_mode.h>
#include <levin/modules/lr_schedulers/engine/per_group.h>
#include <levin/modules/lr_schedulers/lr_scheduler.h>

namespace levin {

/// What a threshold of improvement is: a share of the best value, or an absolute difference.
enum class ThresholdMode : uint8_t { Rel, Abs };
template <>
inline constexpr auto kWords<ThresholdMode> =
    words_of<ThresholdMode>({{"rel", ThresholdMode::Rel}, {"abs", ThresholdMode::Abs}});

/// Arguments of ReduceLROnPlateau, with PyTorch's names and defaults.
struct ReduceLROnPlateauOptions {
  Choice<MetricMode> mode = LEVIN_OPTION(mode, MetricMode::Min, "The metric improves by falling or by rising");
  double factor = LEVIN_OPTION(factor, 0.1, "Factor of each reduction", {.min = 0, .exclusive_max = 1});
  int64_t patience = LEVIN_OPTION(patience, 10, "Epochs without improvement before the rate is reduced");
  double threshold = LEVIN_OPTION(threshold, 1e-4, "Least change that counts as improvement");
  Choice<ThresholdMode> threshold_mode =
      LEVIN_OPTION(threshold_mode, ThresholdMode::Rel, "The threshold is a share of the best, or absolute");
  int64_t cooldown = LEVIN_OPTION(cooldown, 0, "Epochs after a reduction that are not counted");
  PerGroup min_lr = LEVIN_OPTION(min_lr, 0, "Lowest rate, of all or of each parameter group");
  double eps = LEVIN_OPTION(eps, 1e-8, "Smaller changes of the rate are not made");
};

/// Multiplies the learning rate by `factor` if a metric has not improved for more than `patience` epochs. The trainer
/// steps it after validation, with the latest value of `monitor`. NaN is not an improvement.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html
class ReduceLROnPlateau : public LRSchedulerSpec {
 public:
  /// Throws levin::UsageError for bad options.
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options, LRSchedulerConfig when = {});
  /// Throws levin::UsageError if `min_lr` does not match the optimizer's groups.
  std::unique_ptr<LRScheduler> bind(torch::optim::Optimizer& optimizer,
                                    const LRSchedulerContext& context) const override;

 private:
  ReduceLROnPlateauOptions options_;
};

}  // namespace levin
