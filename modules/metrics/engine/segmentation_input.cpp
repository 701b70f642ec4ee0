#include <levin/modules/metrics/engine/segmentation_input.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <levin/core/system/error.h>

namespace levin::metrics {
namespace {

bool is_one_hot(const SegmentationTask& task, const at::Tensor& labels, const at::Tensor& other) {
  if (task.format == SegmentationFormat::Mixed) return labels.dim() > other.dim();
  return task.format == SegmentationFormat::OneHot;
}

at::Tensor members(const SegmentationTask& task, const at::Tensor& labels, bool one_hot) {
  const int64_t classes = task.num_classes;
  if (!at::isIntegralType(labels.scalar_type(), /*includeBool=*/true))
    throw UsageError(task.metric, ": expected integers or bool, got ", labels.scalar_type(),
                     "; take argmax(1) of scores");
  if (labels.dim() < 2 || (one_hot && labels.size(1) != classes))
    throw UsageError(task.metric, ": expected ", one_hot ? "one-hot [batch, " : "indices [batch, ...] of ", classes,
                     one_hot ? ", ...]" : " classes", ", got ", labels.sizes());
  const at::Tensor of_class =
      one_hot
          ? labels != 0
          : (labels.flatten(1).unsqueeze(1) == at::arange(classes, labels.options().dtype(at::kLong)).view({1, -1, 1}));
  const at::Tensor flat = of_class.reshape({labels.size(0), classes, -1});
  return task.include_background ? flat : flat.narrow(1, 1, classes - 1);
}

}  // namespace

void check(const SegmentationTask& task) {
  if (task.counted() < 1)
    throw UsageError(task.metric, ".num_classes: expected at least 2 with include_background = false");
}

SegmentationMasks to_masks(const SegmentationTask& task, const at::Tensor& preds, const at::Tensor& target) {
  SegmentationMasks masks{.preds = members(task, preds, is_one_hot(task, preds, target)),
                          .target = members(task, target, is_one_hot(task, target, preds))};
  if (masks.preds.sizes() != masks.target.sizes())
    throw UsageError(task.metric, ": preds ", preds.sizes(), " and target ", target.sizes(), " do not fit each other");
  return masks;
}

}  // namespace levin::metrics
