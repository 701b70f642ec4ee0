#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/classification_input.h>
#include <levin/modules/metrics/metric.h>

#include <optional>

namespace levin::metrics {

/// Arguments of AUROC and AveragePrecision, with torchmetrics' names and defaults.
struct ScoreCurveOptions {
  std::optional<Choice<TaskKind>> task = LEVIN_OPTION(task, {}, "Kind of classification; required");
  std::optional<int64_t> thresholds = LEVIN_OPTION(
      thresholds, {}, "Thresholds from 0 to 1 that counts are kept for; unset: every score is kept, exact", {.min = 2});
  std::optional<int64_t> num_classes = LEVIN_OPTION(num_classes, {}, "Classes, for multiclass", {.min = 2});
  std::optional<int64_t> num_labels = LEVIN_OPTION(num_labels, {}, "Labels, for multilabel", {.min = 2});
  Choice<ClassAverage> average =
      LEVIN_OPTION(average, ClassAverage::Macro, "How classes become one value (micro: multilabel only)");
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
};

/// Counts of true and false positives at each of a descending sequence of thresholds: float64 [points, columns]; each
/// class against the others.
struct CurveCounts {
  at::Tensor tp = {}, fp = {};
  at::Tensor positives = {}, negatives = {};  ///< totals, [columns]
};

/// The base class of metrics over all thresholds. `update` takes floating preds and target as `to_scores` does.
///
/// In the exact mode, all scores and targets are stored, equal scores are one point of the curve, and a curve starts at
/// (0, 0). With `thresholds`, two histograms are stored, independent of the number of samples. compute: a scalar; with
/// average "none" [classes] or [labels]. Macro and weighted averages skip classes whose value is NaN.
class ScoreCurve : public Metric {
 public:
  /// Throws levin::UsageError for bad options; `metric` is the name for error messages.
  ScoreCurve(const char* metric, ScoreCurveOptions options);

 protected:
  /// Returns one value per column, float64 [columns].
  virtual at::Tensor values(const CurveCounts& counts) const = 0;
  TaskKind task_kind() const { return task_.kind; }
  bool is_exact() const { return !options_.thresholds; }
  int64_t column_count() const { return task_.columns; }
  /// Returns all scores, and the targets of each column: 1, 0, or -1 for what does not count. In the exact mode.
  Scores stored_scores() const;
  CurveCounts binned_counts() const;

  void update_inputs(at::TensorList inputs) override;
  at::Tensor compute_value() const override;

 private:
  bool is_micro() const { return task_.kind == TaskKind::Multilabel && options_.average == ClassAverage::Micro; }
  CurveCounts exact_counts() const;
  void add_to_histograms(const Scores& scores);

  ScoreCurveOptions options_;
  ClassificationTask task_;
  size_t preds_ = 0, target_ = 0;         // exact
  size_t positives_ = 0, negatives_ = 0;  // binned: scores below the first threshold, between the first two, ...
};

}  // namespace levin::metrics
