#include <levin/modules/metrics/dice_score.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/nansum.h>
#include <levin/modules/metrics/engine/checked_task.h>

#include <limits>

namespace levin::metrics {
DiceScore::DiceScore(Options options)
    : task_(checked_segmentation("DiceScore", options)),
      average_(options.average),
      samplewise_(options.aggregation_level == AggregationLevel::Samplewise) {
  if (samplewise_) {
    const int64_t size = average_ == ClassAverage::None ? task_.counted() : 1;
    score_ = add_state("score", {size}, at::kDouble);
    count_ = add_state("count", {size}, at::kLong);
  } else {
    both_ = add_state("both", {1, task_.counted()}, at::kLong);
    predicted_ = add_state("predicted", {1, task_.counted()}, at::kLong);
    actual_ = add_state("actual", {1, task_.counted()}, at::kLong);
  }
}

at::Tensor DiceScore::scores(const at::Tensor& both, const at::Tensor& predicted, const at::Tensor& actual) const {
  const at::Tensor all = (predicted + actual).to(at::kDouble);
  if (average_ == ClassAverage::Micro) return 2 * both.sum(1) / all.sum(1);
  const at::Tensor of_class = 2 * both / all;  // NaN for 0 / 0
  if (average_ == ClassAverage::None) return of_class;
  if (average_ == ClassAverage::Macro) return at::nansum(of_class, 1) / of_class.isnan().logical_not().sum(1);
  const at::Tensor weights = actual / actual.sum(1, /*keepdim=*/true).to(at::kDouble);
  const at::Tensor nothing_came = of_class.isnan().all(1);
  return at::nansum(of_class * weights, 1).masked_fill(nothing_came, std::numeric_limits<double>::quiet_NaN());
}

void DiceScore::update_states(const at::Tensor& preds, const at::Tensor& target) {
  const SegmentationMasks masks = to_masks(task_, preds, target);
  const at::Tensor both = masks.preds.logical_and(masks.target).sum(2);
  const at::Tensor predicted = masks.preds.sum(2), actual = masks.target.sum(2);
  if (!samplewise_) {
    sum(both_).add_(both.sum(0));
    sum(predicted_).add_(predicted.sum(0));
    sum(actual_).add_(actual.sum(0));
    return;
  }
  const at::Tensor values = scores(both, predicted, actual);
  sum(score_).add_(at::nansum(values, 0));
  sum(count_).add_(values.isnan().logical_not().sum(0));
}

at::Tensor DiceScore::compute_value() const {
  const at::Tensor value =
      samplewise_ ? sum(score_) / sum(count_) : scores(sum(both_), sum(predicted_), sum(actual_)).squeeze(0);
  return average_ == ClassAverage::None ? value : value.reshape({});
}

}  // namespace levin::metrics
