#include <levin/modules/metrics/generalized_dice_score.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <levin/modules/metrics/engine/checked_task.h>

namespace levin::metrics {
namespace {

/// Returns the weights of classes with `places`, [samples, classes] of float64.
at::Tensor dice_weights(const at::Tensor& places, DiceWeight type) {
  if (type == DiceWeight::Linear) return at::ones_like(places);
  const at::Tensor weights = 1 / (type == DiceWeight::Square ? places.square() : places);
  const at::Tensor finite = weights.masked_fill(places == 0, 0);
  // torchmetrics takes the largest weights of the classes in this order, not in that of the classes beside.
  const at::Tensor largest = finite.amax(0).repeat_interleave(places.size(0)).view_as(finite);
  return at::where(places == 0, largest, finite);
}

}  // namespace

GeneralizedDiceScore::GeneralizedDiceScore(Options options)
    : task_(checked_segmentation("GeneralizedDiceScore", options)),
      weight_type_(options.weight_type),
      per_class_(options.per_class),
      score_(add_state("score", {per_class_ ? task_.counted() : 1}, at::kDouble)),
      samples_(add_state("samples", {}, at::kLong)) {}

void GeneralizedDiceScore::update_states(const at::Tensor& preds, const at::Tensor& target) {
  if (preds.size(0) == 0) return;
  const SegmentationMasks masks = to_masks(task_, preds, target);
  const at::Tensor places = masks.target.sum(2).to(at::kDouble);
  const at::Tensor weights = dice_weights(places, weight_type_);
  at::Tensor both = 2 * masks.preds.logical_and(masks.target).sum(2) * weights;
  at::Tensor all = (places + masks.preds.sum(2)) * weights;
  if (!per_class_) {
    both = both.sum(1, /*keepdim=*/true);
    all = all.sum(1, /*keepdim=*/true);
  }
  sum(score_).add_((both / all).masked_fill(all == 0, 0).sum(0));
  sum(samples_).add_(preds.size(0));
}

at::Tensor GeneralizedDiceScore::compute_value() const {
  const at::Tensor mean = sum(score_) / sum(samples_);
  return per_class_ ? mean : mean.reshape({});
}

}  // namespace levin::metrics
