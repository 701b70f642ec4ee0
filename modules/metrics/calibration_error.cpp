#include <levin/modules/metrics/calibration_error.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/linspace.h>

#include <tuple>
#include <utility>

namespace levin::metrics {

CalibrationError::CalibrationError(Options options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "CalibrationError");
  task_ = classification_task("CalibrationError", options_.task, options_.num_classes, {1}, options_.ignore_index);
  const int64_t bins = options_.n_bins + 1;
  count_ = add_state("count", {bins}, at::kLong);
  right_ = add_state("right", {bins}, at::kLong);
  confidence_ = add_state("confidence", {bins}, at::kDouble);
}

void CalibrationError::update_inputs(at::TensorList inputs) {
  const ClassificationInput given = masked(task_, inputs);
  const Scores scores = to_scores(given.task, given.preds, given.target);
  const at::Tensor counted = (scores.target >= 0).squeeze(1);
  at::Tensor confidence, right;
  if (task_.kind == TaskKind::Multiclass) {
    const auto [highest, answer] = scores.preds.max(1);
    confidence = highest;
    right = answer == scores.target.squeeze(1);
  } else {
    confidence = scores.preds.squeeze(1);
    right = scores.target.squeeze(1) == 1;
  }
  // Ignored rows have weight 0; a NaN there must not reach the sums.
  confidence = confidence.to(at::kFloat).masked_fill(counted.logical_not(), 0);
  const at::Tensor edges = at::linspace(0, 1, options_.n_bins + 1, confidence.options());
  const at::Tensor bin = at::bucketize(confidence, edges, /*out_int32=*/false, /*right=*/true) - 1;
  sum(count_).index_add_(0, bin, counted.to(at::kLong));
  sum(right_).index_add_(0, bin, right.logical_and(counted).to(at::kLong));
  sum(confidence_).index_add_(0, bin, confidence.to(at::kDouble));
}

at::Tensor CalibrationError::compute_value() const {
  const at::Tensor count = sum(count_).to(at::kDouble);
  const at::Tensor gap = ((sum(right_) - sum(confidence_)) / count).masked_fill(count == 0, 0).abs();
  if (options_.norm == CalibrationNorm::Max) return gap.max();
  const at::Tensor share = count / count.sum();
  return options_.norm == CalibrationNorm::L1 ? (gap * share).sum() : (gap.square() * share).sum().sqrt();
}

}  // namespace levin::metrics
