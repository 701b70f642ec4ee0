#include <levin/modules/metrics/engine/classification_input.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>

#include <limits>
#include <tuple>

namespace levin::metrics {
namespace {

bool is_integer(const at::Tensor& tensor) { return at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true); }

[[noreturn]] void refuse(const ClassificationTask& task, const char* expected, const at::Tensor& preds,
                         const at::Tensor& target) {
  throw UsageError(task.metric, ": expected ", expected, ", got preds ", preds.sizes(), " ", preds.scalar_type(),
                   " and target ", target.sizes(), " ", target.scalar_type());
}

void check(const ClassificationTask& task, const at::Tensor& preds, const at::Tensor& target) {
  if (!is_integer(target)) refuse(task, "an integer target", preds, target);
  if (task.kind == TaskKind::Multiclass) {
    const bool scores = preds.dim() >= 2 && preds.dim() == target.dim() + 1 && preds.is_floating_point();
    const bool classes = preds.sizes() == target.sizes() && is_integer(preds);
    if (!scores && !classes)
      refuse(task, "preds [batch, classes, ...] of a floating dtype, or integer classes shaped as target", preds,
             target);
    if (scores && (preds.size(0) != target.size(0) || preds.sizes().slice(2) != target.sizes().slice(1) ||
                   preds.size(1) != task.columns))
      refuse(task, c10::str("preds [batch, ", task.columns, ", ...] and target [batch, ...]").c_str(), preds, target);
    return;
  }
  if (preds.sizes() != target.sizes()) refuse(task, "preds and target of one shape", preds, target);
  if (task.kind == TaskKind::Multilabel && (preds.dim() < 2 || preds.size(1) != task.columns))
    refuse(task, c10::str("preds and target [batch, ", task.columns, ", ...]").c_str(), preds, target);
}

/// Reshapes [batch, columns, ...] to [N, columns], and binary [...] to [N, 1].
at::Tensor as_rows(const ClassificationTask& task, const at::Tensor& values) {
  if (task.kind == TaskKind::Binary) return values.reshape({-1, 1});
  return values.movedim(1, -1).reshape({-1, task.columns});
}

/// Returns `values`, or `normalized(values)` if any counted value is outside [0, 1].
template <class Normalize>
at::Tensor to_probabilities(const at::Tensor& values, const at::Tensor& counted, const Normalize& normalize) {
  at::Tensor inside = (values >= 0).logical_and(values <= 1);
  if (counted.defined()) inside = inside.logical_or(counted.logical_not());
  return at::where(inside.all(), values, normalize(values));
}

at::Tensor sigmoid(const at::Tensor& values) { return values.sigmoid(); }
at::Tensor softmax(const at::Tensor& values) { return values.softmax(1); }

at::Tensor counted_of(const ClassificationTask& task, const at::Tensor& target) {
  // As int64, since the value may be out of range for the target's dtype.
  return task.ignore_index ? target.to(at::kLong) != *task.ignore_index : at::Tensor();
}

Labels multiclass_labels(const ClassificationTask& task, const at::Tensor& preds, const at::Tensor& target,
                         int64_t top_k) {
  Labels labels;
  labels.counted = counted_of(task, target);
  labels.target = target.to(at::kLong);
  if (labels.counted.defined()) labels.target = labels.target.masked_fill(labels.counted.logical_not(), 0);
  if (preds.dim() == target.dim()) {
    labels.preds = preds.to(at::kLong);
  } else {
    labels.preds = preds.argmax(1);
    if (top_k > 1) {
      const at::Tensor best = std::get<1>(preds.topk(top_k, 1));
      labels.preds = at::where((best == labels.target.unsqueeze(1)).any(1), labels.target, labels.preds);
    }
  }
  labels.preds = labels.preds.flatten();
  labels.target = labels.target.flatten();
  if (labels.counted.defined()) labels.counted = labels.counted.flatten();
  return labels;
}

}  // namespace

ClassificationTask classification_task(const char* metric, const std::optional<Choice<TaskKind>>& task,
                                       std::optional<int64_t> num_classes, std::optional<int64_t> num_labels,
                                       std::optional<int64_t> ignore_index) {
  if (!task) throw UsageError(metric, ".task: missing; set the kind of classification, such as multiclass");
  const auto needed = [&](const char* option, std::optional<int64_t> value) {
    if (!value) throw UsageError(metric, ".", option, ": missing; task ", task->word(), " needs it");
    return *value;
  };
  if (*task == TaskKind::Binary) return {TaskKind::Binary, metric, 1, ignore_index};
  if (*task == TaskKind::Multiclass)
    return {TaskKind::Multiclass, metric, needed("num_classes", num_classes), ignore_index};
  return {TaskKind::Multilabel, metric, needed("num_labels", num_labels), ignore_index};
}

ClassificationInput masked(const ClassificationTask& task, at::TensorList inputs) {
  if (inputs.size() < 2 || inputs.size() > 3)
    throw UsageError(task.metric, ": expected preds and target, and at most a mask, got ", inputs.size(), " tensors");
  if (inputs.size() == 2) return {inputs[0], inputs[1], task};
  const at::Tensor &target = inputs[1], &mask = inputs[2];
  if (mask.scalar_type() != at::kBool || mask.sizes() != target.sizes())
    throw UsageError(task.metric, ": expected a bool mask shaped as target, ", target.sizes(), ", got ",
                     mask.scalar_type(), " ", mask.sizes());
  if (!at::isIntegralType(target.scalar_type(), /*includeBool=*/true)) return {inputs[0], target, task};
  ClassificationTask ignoring = task;
  // If there is no ignore_index, uses a value that is not a class.
  ignoring.ignore_index = task.ignore_index.value_or(std::numeric_limits<int64_t>::min());
  return {inputs[0], target.to(at::kLong).masked_fill(mask.logical_not(), *ignoring.ignore_index), ignoring};
}

Labels to_labels(const ClassificationTask& task, const at::Tensor& preds, const at::Tensor& target, double threshold,
                 int64_t top_k) {
  check(task, preds, target);
  if (task.kind == TaskKind::Multiclass) return multiclass_labels(task, preds, target, top_k);
  const at::Tensor rows = as_rows(task, target);
  Labels labels;
  labels.counted = counted_of(task, rows);
  labels.target = rows == 1;
  labels.preds = as_rows(task, preds);
  if (preds.is_floating_point())
    labels.preds = to_probabilities(labels.preds, labels.counted, sigmoid) > threshold;
  else
    labels.preds = labels.preds == 1;
  return labels;
}

Scores to_scores(const ClassificationTask& task, const at::Tensor& preds, const at::Tensor& target) {
  check(task, preds, target);
  if (!preds.is_floating_point()) refuse(task, "preds of a floating dtype", preds, target);
  const bool multiclass = task.kind == TaskKind::Multiclass;
  const at::Tensor rows = multiclass ? target.reshape({-1, 1}) : as_rows(task, target);
  const at::Tensor counted = counted_of(task, rows);
  at::Tensor scores = as_rows(task, preds);
  if (scores.scalar_type() != at::kDouble) scores = scores.to(at::kFloat);
  const at::Tensor classes = multiclass ? rows.to(at::kInt) : (rows == 1).to(at::kChar);
  return {to_probabilities(scores, counted, multiclass ? softmax : sigmoid),
          counted.defined() ? classes.masked_fill(counted.logical_not(), -1) : classes};
}

at::Tensor count_indices(const at::Tensor& index, const at::Tensor& counted, int64_t size) {
  const at::Tensor ones = counted.defined() ? counted.to(at::kLong) : at::ones_like(index);
  return at::zeros({size}, index.options()).index_add_(0, index, ones);
}

}  // namespace levin::metrics
