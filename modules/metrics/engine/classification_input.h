#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/choice.h>

#include <cstdint>
#include <optional>
#include <string>

namespace levin {
namespace metrics {

/// The kind of classification.
enum class TaskKind : uint8_t { Binary, Multiclass, Multilabel };
/// How the values of classes become one value; None: one value each.
enum class ClassAverage : uint8_t { Micro, Macro, Weighted, None };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::TaskKind> =
    words_of<metrics::TaskKind>({{"binary", metrics::TaskKind::Binary},
                                 {"multiclass", metrics::TaskKind::Multiclass},
                                 {"multilabel", metrics::TaskKind::Multilabel}});
template <>
inline constexpr auto kWords<metrics::ClassAverage> =
    words_of<metrics::ClassAverage>({{"micro", metrics::ClassAverage::Micro},
                                     {"macro", metrics::ClassAverage::Macro},
                                     {"weighted", metrics::ClassAverage::Weighted},
                                     {"none", metrics::ClassAverage::None}});

namespace metrics {

/// The kind of inputs of a classification metric, from its options.
struct ClassificationTask {
  TaskKind kind = TaskKind::Binary;
  std::string metric = {};                   ///< name of the metric, for error messages
  int64_t columns = 1;                       ///< classes or labels; 1 for binary
  std::optional<int64_t> ignore_index = {};  ///< targets with this value are not counted
};

/// Throws levin::UsageError if the task is unset, and if num_classes or num_labels is unset but required by the task.
ClassificationTask classification_task(const char* metric, const std::optional<Choice<TaskKind>>& task,
                                       std::optional<int64_t> num_classes, std::optional<int64_t> num_labels,
                                       std::optional<int64_t> ignore_index);

/// Preds and target of an update, and their task.
struct ClassificationInput {
  at::Tensor preds = {}, target = {};
  ClassificationTask task = {};
};

/// Reads the inputs of an update: preds, target and an optional bool mask shaped as target; elements where the mask is
/// false are ignored. Throws levin::UsageError for another number of tensors and an invalid mask.
ClassificationInput masked(const ClassificationTask& task, at::TensorList inputs);

/// Predicted and true classes: int64 [N] for multiclass; bool [N, 1] for binary and bool [N, labels] for multilabel.
struct Labels {
  at::Tensor preds = {}, target = {};
  at::Tensor counted = {};  ///< bool, shaped as target; undefined: all count. Uncounted elements have target 0.
};

/// Computes classes from a metric's inputs.
///
/// Binary: `preds` and `target` of the same shape. Multilabel: both [batch, labels, ...]. Multiclass: `target` [batch,
/// ...], `preds` of the same shape (classes) or floating [batch, classes, ...] (scores; the highest counts, and with
/// `top_k` > 1 the target counts as predicted if it is among the k highest). Floating binary and multilabel preds are
/// probabilities, or logits if any counted value is outside [0, 1]; they count as 1 above `threshold`. No host sync;
/// values are not checked. Throws levin::UsageError for other shapes and dtypes.
Labels to_labels(const ClassificationTask& task, const at::Tensor& preds, const at::Tensor& target, double threshold,
                 int64_t top_k = 1);

/// Scores and true classes: preds float32 or float64 [N, columns]; target int32 [N, 1] for multiclass, int8 [N,
/// columns] (0 or 1) for the others, -1 for elements that are not counted.
struct Scores {
  at::Tensor preds = {}, target = {};
};

/// Computes probabilities from a metric's floating inputs, shaped as for `to_labels`; logits are converted by sigmoid,
/// for multiclass by softmax. No host sync. Throws levin::UsageError for other shapes and dtypes.
Scores to_scores(const ClassificationTask& task, const at::Tensor& preds, const at::Tensor& target);

/// Counts how often each of `size` indices occurs: int64 [size]; `counted` (bool, shaped as `index`, or undefined)
/// selects the elements. An index out of range is a device error: LibTorch throws on the CPU, CUDA asserts.
at::Tensor count_indices(const at::Tensor& index, const at::Tensor& counted, int64_t size);

}  // namespace metrics
}  // namespace levin
