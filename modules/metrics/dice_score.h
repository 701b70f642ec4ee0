#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/classification_input.h>
#include <levin/modules/metrics/engine/segmentation_input.h>
#include <levin/modules/metrics/metric.h>

#include <cstdint>
#include <optional>

namespace levin {
namespace metrics {

/// Whether a score is that of each sample, averaged, or that of all samples together.
enum class AggregationLevel : uint8_t { Samplewise, Global };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::AggregationLevel> = words_of<metrics::AggregationLevel>(
    {{"samplewise", metrics::AggregationLevel::Samplewise}, {"global", metrics::AggregationLevel::Global}});

namespace metrics {

/// Arguments of DiceScore, with torchmetrics' names and defaults.
struct DiceScoreOptions {
  std::optional<int64_t> num_classes =
      LEVIN_OPTION(num_classes, {}, "Classes, the background included; required", {.min = 1});
  bool include_background = LEVIN_OPTION(include_background, true, "Count class 0 too");
  Choice<ClassAverage> average =
      LEVIN_OPTION(average, ClassAverage::Macro, "How classes become one value; none: one value each");
  Choice<AggregationLevel> aggregation_level =
      LEVIN_OPTION(aggregation_level, AggregationLevel::Samplewise,
                   "samplewise: the mean of the samples' scores; global: the score of all samples together");
  Choice<SegmentationFormat> input_format =
      LEVIN_OPTION(input_format, SegmentationFormat::OneHot, "What preds and target hold; mixed: one of them each");
};

/// The Dice score of segmentations: twice the intersection divided by the sum of the predicted and the true places.
///
/// `update` takes inputs as MeanIoU does. A class that occurs neither in the target nor in the prediction of a sample
/// is skipped there. compute: a scalar, or with average "none" [classes]; NaN if nothing occurred. Source:
/// https://lightning.ai/docs/torchmetrics/stable/segmentation/dice.html
class DiceScore final : public Cloneable<DiceScore> {
 public:
  using Options = DiceScoreOptions;
  /// Throws levin::UsageError for bad options.
  explicit DiceScore(Options options);

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
  at::Tensor compute_value() const override;
  /// Returns the scores of places counted by sample and class, each [samples, classes]: [samples], or [samples,
  /// classes] with average "none"; NaN where no place is counted.
  at::Tensor scores(const at::Tensor& both, const at::Tensor& predicted, const at::Tensor& actual) const;

  SegmentationTask task_;
  ClassAverage average_;
  bool samplewise_;
  size_t score_ = 0, count_ = 0;                  // samplewise
  size_t both_ = 0, predicted_ = 0, actual_ = 0;  // global
};

}  // namespace metrics
}  // namespace levin
