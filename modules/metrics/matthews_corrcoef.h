#pragma once
#include <levin/modules/metrics/confusion_matrix.h>

namespace levin::metrics {

/// Arguments of MatthewsCorrCoef, with torchmetrics' names and defaults.
struct MatthewsCorrCoefOptions {
  std::optional<Choice<TaskKind>> task = LEVIN_OPTION(task, {}, "Kind of classification; required");
  double threshold =
      LEVIN_OPTION(threshold, 0.5, "Binary and multilabel: probabilities above it mean 1", {.min = 0, .max = 1});
  std::optional<int64_t> num_classes = LEVIN_OPTION(num_classes, {}, "Classes, for multiclass", {.min = 2});
  std::optional<int64_t> num_labels = LEVIN_OPTION(num_labels, {}, "Labels, for multilabel", {.min = 2});
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
};

/// The correlation of true and predicted classes, from -1 to 1; multilabel counts all labels together.
///
/// compute: a scalar. Where the correlation has no value because only one class came: binary and multilabel 1 if
/// everything was right and -1 if everything was wrong; otherwise 0.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/matthews_corr_coef.html
class MatthewsCorrCoef final : public Cloneable<MatthewsCorrCoef, ConfusionCounts> {
 public:
  using Options = MatthewsCorrCoefOptions;
  /// Throws levin::UsageError for bad options.
  explicit MatthewsCorrCoef(Options options);

 private:
  at::Tensor compute_value() const override;
};

}  // namespace levin::metrics
