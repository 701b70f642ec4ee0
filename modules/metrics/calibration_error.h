#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/classification_input.h>
#include <levin/modules/metrics/metric.h>

#include <cstdint>
#include <optional>

namespace levin {
namespace metrics {

/// The value of all bins' differences: the expected one, its root mean square, or the largest.
enum class CalibrationNorm : uint8_t { L1, L2, Max };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::CalibrationNorm> =
    words_of<metrics::CalibrationNorm>({{"l1", metrics::CalibrationNorm::L1},
                                        {"l2", metrics::CalibrationNorm::L2},
                                        {"max", metrics::CalibrationNorm::Max}});

namespace metrics {

/// Arguments of CalibrationError, with torchmetrics' names and defaults.
struct CalibrationErrorOptions {
  std::optional<Choice<TaskKind>> task =
      LEVIN_OPTION(task, {}, "Kind of classification; required", {.choices = {"binary", "multiclass"}});
  int64_t n_bins = LEVIN_OPTION(n_bins, 15, "Bins of equal width for the confidences", {.min = 1});
  Choice<CalibrationNorm> norm =
      LEVIN_OPTION(norm, CalibrationNorm::L1, "l1: expected error; l2: its root mean square; max: the largest");
  std::optional<int64_t> num_classes = LEVIN_OPTION(num_classes, {}, "Classes, for multiclass", {.min = 2});
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
};

/// The difference between confidence and accuracy, in bins of the confidence.
///
/// `update` takes the inputs of `to_scores`. The confidence is the highest probability (binary: the probability of
/// class 1); a prediction is correct if that class (binary: class 1) is the target. A confidence of exactly 1 has a
/// separate bin, as in torchmetrics. Only sums per bin are stored. compute: a scalar; NaN if nothing was counted (max:
/// 0).
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/calibration_error.html
class CalibrationError final : public Cloneable<CalibrationError> {
 public:
  using Options = CalibrationErrorOptions;
  /// Throws levin::UsageError for bad options.
  explicit CalibrationError(Options options);

 private:
  void update_inputs(at::TensorList inputs) override;
  at::Tensor compute_value() const override;

  Options options_;
  ClassificationTask task_;
  size_t count_, right_, confidence_;
};

}  // namespace metrics
}  // namespace levin
