#include <levin/modules/metrics/mean_iou.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <levin/core/system/error.h>

#include <utility>

namespace levin::metrics {

MeanIoU::MeanIoU(Options options) : options_(std::move(options)) {
  if (!options_.num_classes) throw UsageError("MeanIoU.num_classes: missing; set the classes, the background included");
  schema_of<Options>().check(&options_, "MeanIoU");
  const int64_t counted = *options_.num_classes - (options_.include_background ? 0 : 1);
  if (counted < 1) throw UsageError("MeanIoU.num_classes: expected at least 2 with include_background = false");
  const int64_t size = options_.per_class ? counted : 1;
  score_ = add_state("score", {size}, at::kDouble);
  count_ = add_state("num_batches", {size}, at::kLong);
}

bool MeanIoU::is_one_hot(const at::Tensor& labels, const at::Tensor& other) const {
  if (options_.input_format == SegmentationFormat::Mixed) return labels.dim() > other.dim();
  return options_.input_format == SegmentationFormat::OneHot;
}

at::Tensor MeanIoU::members(const at::Tensor& labels, bool one_hot) const {
  const int64_t classes = *options_.num_classes;
  if (!at::isIntegralType(labels.scalar_type(), /*includeBool=*/true))
    throw UsageError("MeanIoU: expected integers or bool, got ", labels.scalar_type(), "; take argmax(1) of scores");
  if (labels.dim() < 2 || (one_hot && labels.size(1) != classes))
    throw UsageError("MeanIoU: expected ", one_hot ? "one-hot [batch, " : "indices [batch, ...] of ", classes,
                     one_hot ? ", ...]" : " classes", ", got ", labels.sizes());
  const at::Tensor of_class =
      one_hot
          ? labels != 0
          : (labels.flatten(1).unsqueeze(1) == at::arange(classes, labels.options().dtype(at::kLong)).view({1, -1, 1}));
  const at::Tensor flat = of_class.reshape({labels.size(0), classes, -1});
  return options_.include_background ? flat : flat.narrow(1, 1, classes - 1);
}

void MeanIoU::update_states(const at::Tensor& preds, const at::Tensor& target) {
  const at::Tensor predicted = members(preds, is_one_hot(preds, target));
  const at::Tensor actual = members(target, is_one_hot(target, preds));
  if (predicted.sizes() != actual.sizes())
    throw UsageError("MeanIoU: preds ", preds.sizes(), " and target ", target.sizes(), " do not fit each other");
  const at::Tensor both = predicted.logical_and(actual).sum(2);
  const at::Tensor either = predicted.logical_or(actual).sum(2);
  const at::Tensor came = either > 0;
  const at::Tensor iou = (both.to(at::kDouble) / either).masked_fill(either == 0, 0);
  if (options_.per_class) {
    sum(score_).add_(iou.sum(0));
    sum(count_).add_(came.sum(0));
  } else {
    sum(score_).add_(iou.sum());
    sum(count_).add_(came.sum());
  }
}

at::Tensor MeanIoU::compute_value() const {
  const at::Tensor mean = sum(score_) / sum(count_);
  return options_.per_class ? mean.masked_fill(sum(count_) == 0, -1) : mean.reshape({});
}

}  // namespace levin::metrics
