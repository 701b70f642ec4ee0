#include <levin/modules/metrics/mean_iou.h>
#include <ATen/TensorOperators.h>
#include <levin/modules/metrics/engine/checked_task.h>

namespace levin::metrics {
MeanIoU::MeanIoU(Options options) : task_(checked_segmentation("MeanIoU", options)), per_class_(options.per_class) {
  const int64_t size = per_class_ ? task_.counted() : 1;
  score_ = add_state("score", {size}, at::kDouble);
  count_ = add_state("num_batches", {size}, at::kLong);
}

void MeanIoU::update_states(const at::Tensor& preds, const at::Tensor& target) {
  const SegmentationMasks masks = to_masks(task_, preds, target);
  const at::Tensor both = masks.preds.logical_and(masks.target).sum(2);
  const at::Tensor either = masks.preds.logical_or(masks.target).sum(2);
  const at::Tensor came = either > 0;
  const at::Tensor iou = (both.to(at::kDouble) / either).masked_fill(either == 0, 0);
  if (per_class_) {
    sum(score_).add_(iou.sum(0));
    sum(count_).add_(came.sum(0));
  } else {
    sum(score_).add_(iou.sum());
    sum(count_).add_(came.sum());
  }
}

at::Tensor MeanIoU::compute_value() const {
  const at::Tensor mean = sum(score_) / sum(count_);
  return per_class_ ? mean.masked_fill(sum(count_) == 0, -1) : mean.reshape({});
}

}  // namespace levin::metrics
