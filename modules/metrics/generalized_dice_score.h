#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/segmentation_input.h>
#include <levin/modules/metrics/metric.h>

#include <cstdint>
#include <optional>

namespace levin {
namespace metrics {

/// What a class weighs: 1 / places^2, 1 / places, or 1.
enum class DiceWeight : uint8_t { Square, Simple, Linear };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::DiceWeight> =
    words_of<metrics::DiceWeight>({{"square", metrics::DiceWeight::Square},
                                   {"simple", metrics::DiceWeight::Simple},
                                   {"linear", metrics::DiceWeight::Linear}});

namespace metrics {

/// Arguments of GeneralizedDiceScore, with torchmetrics' names and defaults.
struct GeneralizedDiceScoreOptions {
  std::optional<int64_t> num_classes =
      LEVIN_OPTION(num_classes, {}, "Classes, the background included; required", {.min = 1});
  bool include_background = LEVIN_OPTION(include_background, true, "Count class 0 too");
  bool per_class = LEVIN_OPTION(per_class, false, "One value for each class");
  Choice<DiceWeight> weight_type =
      LEVIN_OPTION(weight_type, DiceWeight::Square,
                   "Weight of a class in a sample: 1 / places^2 (square), 1 / places (simple) or 1");
  Choice<SegmentationFormat> input_format =
      LEVIN_OPTION(input_format, SegmentationFormat::OneHot, "What preds and target hold; mixed: one of them each");
};

/// The Dice score of segmentations whose classes weigh the more, the fewer places they have; the mean over samples.
///
/// `update` takes inputs as MeanIoU does. compute: a scalar, or with `per_class` [classes]; NaN if nothing was counted.
/// A class without a place in a sample has a weight of another sample of the batch, which one as in torchmetrics, so
/// that the value depends on how samples are batched. Source: Sudre et al. (2017), section 2.1,
/// https://lightning.ai/docs/torchmetrics/stable/segmentation/generalized_dice.html
class GeneralizedDiceScore final : public Cloneable<GeneralizedDiceScore> {
 public:
  using Options = GeneralizedDiceScoreOptions;
  /// Throws levin::UsageError for bad options.
  explicit GeneralizedDiceScore(Options options);

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
  at::Tensor compute_value() const override;

  SegmentationTask task_;
  DiceWeight weight_type_;
  bool per_class_;
  size_t score_, samples_;
};

}  // namespace metrics
}  // namespace levin
