#pragma once
#include <levin/modules/metrics/confusion_matrix.h>

namespace levin::metrics {

/// Arguments of JaccardIndex, with torchmetrics' names and defaults.
struct JaccardIndexOptions {
  std::optional<Choice<TaskKind>> task = LEVIN_OPTION(task, {}, "Kind of classification; required");
  double threshold =
      LEVIN_OPTION(threshold, 0.5, "Binary and multilabel: probabilities above it mean 1", {.min = 0, .max = 1});
  std::optional<int64_t> num_classes = LEVIN_OPTION(num_classes, {}, "Classes, for multiclass", {.min = 2});
  std::optional<int64_t> num_labels = LEVIN_OPTION(num_labels, {}, "Labels, for multilabel", {.min = 2});
  Choice<ClassAverage> average =
      LEVIN_OPTION(average, ClassAverage::Macro, "How classes become one value; none: one value each");
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
  double zero_division = LEVIN_OPTION(zero_division, 0, "Value of 0 / 0", {.min = 0, .max = 1});
};

/// Intersection over union of true and predicted classes, over all elements of all batches: tp / (tp + fp + fn).
///
/// compute: a scalar; with average "none" [classes] or [labels] (binary: a scalar). The macro average over classes
/// skips classes that occur neither in the target nor in the predictions, and ignore_index if it is a class; NaN if
/// none is left.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/jaccard_index.html
class JaccardIndex final : public Cloneable<JaccardIndex, ConfusionCounts> {
 public:
  using Options = JaccardIndexOptions;
  /// Throws levin::UsageError for bad options.
  explicit JaccardIndex(Options options);

 private:
  at::Tensor compute_value() const override;
  /// Returns whether ignore_index is one of the classes.
  bool ignores_a_class() const;

  Options options_;
};

}  // namespace levin::metrics
