#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/score_curve.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace levin::metrics {

/// Arguments of PrecisionRecallCurve and ROC, with torchmetrics' names and defaults.
struct ThresholdCurveOptions {
  std::optional<Choice<TaskKind>> task = LEVIN_OPTION(task, {}, "Kind of classification; required");
  std::optional<int64_t> thresholds = LEVIN_OPTION(
      thresholds, {}, "Thresholds from 0 to 1 that counts are kept for; unset: every score is kept, exact", {.min = 2});
  std::optional<int64_t> num_classes = LEVIN_OPTION(num_classes, {}, "Classes, for multiclass", {.min = 2});
  std::optional<int64_t> num_labels = LEVIN_OPTION(num_labels, {}, "Labels, for multilabel", {.min = 2});
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
};

/// The curve of one class or label against the others: float64 [points] each. A curve of precision and recall has a
/// last point (1, 0) without a threshold.
struct Curve {
  at::Tensor x = {}, y = {}, thresholds = {};
};

/// The base class of metrics that are curves over thresholds. `update` takes floating preds and target as `to_scores`
/// does. compute: the curves as float64 [columns, 3, points], x, y and thresholds of each; shorter ones end with NaN.
class ThresholdCurve : public ScoreCurve {
 public:
  ThresholdCurve(const char* metric, const ThresholdCurveOptions& options);

  /// Returns the curve of each class or label, one for binary.
  std::vector<Curve> curves() const;

 protected:
  /// Makes a curve of counts at falling thresholds, all float64; `counts` has one column. `only_first`: of several
  /// classes only the first one came.
  virtual Curve curve_of(const CurveCounts& counts, const at::Tensor& thresholds, bool only_first) const = 0;
  at::Tensor compute_value() const final;

 private:
  at::Tensor values(const CurveCounts& counts) const final { return counts.tp; }
};

}  // namespace levin::metrics
