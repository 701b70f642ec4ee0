#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/classification_input.h>
#include <levin/modules/metrics/metric.h>

#include <cstdint>
#include <optional>

namespace levin {
namespace metrics {

/// The base class of metrics computed from a confusion matrix. `update` takes the inputs of `to_labels`.
class ConfusionCounts : public Metric {
 public:
  ConfusionCounts(ClassificationTask task, double threshold);

 protected:
  const ClassificationTask& task() const { return task_; }
  /// Returns the counts; rows are true classes, columns predicted ones: int64 [classes, classes], binary [2, 2],
  /// multilabel [labels, 2, 2].
  const at::Tensor& counts() const { return sum(counts_); }
  void update_inputs(at::TensorList inputs) override;

 private:
  ClassificationTask task_;
  double threshold_;
  size_t counts_;
};

/// The sum that counts are divided by: that of the true class, of the predicted one, or of all.
enum class Normalization : uint8_t { None, True, Pred, All };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::Normalization> =
    words_of<metrics::Normalization>({{"none", metrics::Normalization::None},
                                      {"true", metrics::Normalization::True},
                                      {"pred", metrics::Normalization::Pred},
                                      {"all", metrics::Normalization::All}});

namespace metrics {

/// Arguments of ConfusionMatrix, with torchmetrics' names and defaults.
struct ConfusionMatrixOptions {
  std::optional<Choice<TaskKind>> task = LEVIN_OPTION(task, {}, "Kind of classification; required");
  double threshold =
      LEVIN_OPTION(threshold, 0.5, "Binary and multilabel: probabilities above it mean 1", {.min = 0, .max = 1});
  std::optional<int64_t> num_classes = LEVIN_OPTION(num_classes, {}, "Classes, for multiclass", {.min = 2});
  std::optional<int64_t> num_labels = LEVIN_OPTION(num_labels, {}, "Labels, for multilabel", {.min = 2});
  Choice<Normalization> normalize =
      LEVIN_OPTION(normalize, Normalization::None, "Divide by the sum of the true class, the predicted one or all");
  std::optional<int64_t> ignore_index = LEVIN_OPTION(ignore_index, {}, "Targets of this value are not counted");
};

/// Counts how often each true class (row) was predicted as each class (column).
///
/// compute: [classes, classes], binary [2, 2], multilabel [labels, 2, 2]; int64 counts, or with `normalize` float64
/// fractions (0 if the sum is 0). Source:
/// https://lightning.ai/docs/torchmetrics/stable/classification/confusion_matrix.html
class ConfusionMatrix final : public Cloneable<ConfusionMatrix, ConfusionCounts> {
 public:
  using Options = ConfusionMatrixOptions;
  /// Throws levin::UsageError for bad options.
  explicit ConfusionMatrix(Options options);

 private:
  at::Tensor compute_value() const override;

  Normalization normalize_;
};

}  // namespace metrics
}  // namespace levin
