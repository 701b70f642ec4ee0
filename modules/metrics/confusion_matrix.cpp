#include <levin/modules/metrics/confusion_matrix.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <levin/modules/metrics/engine/checked_task.h>

#include <utility>

namespace levin::metrics {
namespace {

at::DimVector shape_of(const ClassificationTask& task) {
  if (task.kind == TaskKind::Multiclass) return {task.columns, task.columns};
  if (task.kind == TaskKind::Multilabel) return {task.columns, 2, 2};
  return {2, 2};
}

}  // namespace

ConfusionCounts::ConfusionCounts(ClassificationTask task, double threshold)
    : task_(std::move(task)), threshold_(threshold) {
  counts_ = add_state("confmat", shape_of(task_), at::kLong);
}

void ConfusionCounts::update_inputs(at::TensorList inputs) {
  const ClassificationInput given = masked(task_, inputs);
  const Labels labels = to_labels(given.task, given.preds, given.target, threshold_);
  const int64_t cells = counts().numel();
  at::Tensor index;
  if (task_.kind == TaskKind::Multiclass) {
    index = labels.target * task_.columns + labels.preds;
    // A class beyond the last one would count in another row, so its index must be out of range.
    if (given.preds.dim() == given.target.dim())
      index = index.masked_fill((labels.preds < 0).logical_or(labels.preds >= task_.columns), cells);
  } else {
    const at::Tensor first = at::arange(0, cells, 4, labels.target.options().dtype(at::kLong));
    index = first + labels.target.to(at::kLong) * 2 + labels.preds.to(at::kLong);
  }
  const at::Tensor counted = labels.counted.defined() ? labels.counted.flatten() : at::Tensor();
  sum(counts_).add_(count_indices(index.flatten(), counted, cells).view_as(counts()));
}

ConfusionMatrix::ConfusionMatrix(Options options)
    : Cloneable(checked_classification("ConfusionMatrix", options), options.threshold), normalize_(options.normalize) {}

at::Tensor ConfusionMatrix::compute_value() const {
  if (normalize_ == Normalization::None) return counts().clone();
  const at::Tensor values = counts().to(at::kDouble);
  at::Tensor total;
  if (normalize_ == Normalization::True) total = values.sum(-1, /*keepdim=*/true);
  if (normalize_ == Normalization::Pred) total = values.sum(-2, /*keepdim=*/true);
  if (normalize_ == Normalization::All) total = values.sum({-2, -1}, /*keepdim=*/true);
  return (values / total).masked_fill(total == 0, 0);
}

}  // namespace levin::metrics
