#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/classification_input.h>
#include <levin/modules/metrics/metric.h>

#include <optional>

namespace levin::metrics {

/// Arguments of Accuracy, Precision, Recall and F1Score, with torchmetrics' names and defaults.
struct StatScoresOptions {
  std::optional<Choice<TaskKind>> task = LEVIN_OPTION(task, {}, "Kind of classification; required");
  double threshold =
      LEVIN_OPTION(threshold, 0.5, "Binary and multilabel: probabilities above it mean 1", {.min = 0, .max = 1});
  std::optional<int64_t> num_classes = LEVIN_OPTION(num_classes, {}, "Classes, for multiclass", {.min = 2});
  std::optional<int64_t> num_labels = LEVIN_OPTION(num_labels, {}, "Labels, for multilabel", {.min = 2});
  Choice<ClassAverage> average =
      LEVIN_OPTION(average, ClassAverage::Micro, "How classes become one value; none: one value each");
  int64_t top_k =
      LEVIN_OPTION(top_k, 1, "Multiclass: the target counts as found among the k highest scores", {.min = 1});
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
  double zero_division = LEVIN_OPTION(zero_division, 0, "Value of 0 / 0", {.min = 0, .max = 1});
};

/// Counts of correct and wrong predictions, float64: a scalar, or one value per class or label.
struct StatCounts {
  at::Tensor tp = {}, fp = {}, tn = {}, fn = {};
};

/// The base class of Accuracy, Precision, Recall and F1Score: counts true and false positives and negatives.
///
/// `update` takes the inputs of `to_labels`. compute: a scalar; with average "none" [classes] or [labels] (binary: a
/// scalar). The macro average skips classes that occur neither in the target nor in the predictions. Without an update:
/// 0.
class StatScores : public Metric {
 public:
  /// Throws levin::UsageError for bad options; `metric` is the name for error messages.
  StatScores(const char* metric, StatScoresOptions options);

 protected:
  /// Returns the metric's value from counts of any shape.
  virtual at::Tensor score(const StatCounts& counts) const = 0;
  /// Returns whether the macro average for a top_k above 1 also skips classes that were predicted but have no target.
  virtual bool skips_predicted_classes() const { return false; }
  /// Returns numerator / denominator, or zero_division for 0 / 0.
  at::Tensor divide(const at::Tensor& numerator, const at::Tensor& denominator) const;
  TaskKind task_kind() const { return task_.kind; }

  void update_inputs(at::TensorList inputs) override;
  at::Tensor compute_value() const override;

 private:
  void count_multiclass(const Labels& labels);
  void count_binary(const Labels& labels);
  at::Tensor averaged(const StatCounts& counts) const;

  StatScoresOptions options_;
  ClassificationTask task_;
  size_t tp_, fp_, tn_, fn_;
};

}  // namespace levin::metrics
