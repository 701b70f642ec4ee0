#include <levin/modules/detection/fcos_loss.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <levin/modules/detection/boxes.h>
#include <levin/modules/detection/detections.h>

#include <limits>
#include <vector>

namespace levin::nn {
namespace {

constexpr double kCenterRadius = 1.5, kReach = 8;  // strides
constexpr double kAlpha = 0.25, kGamma = 2;
constexpr double kFar = std::numeric_limits<float>::infinity();

/// Returns the distances from points [locations, 2] to the four sides of boxes [boxes, 4]: [locations, boxes, 4],
/// negative outside.
at::Tensor distances_to(const at::Tensor& points, const at::Tensor& boxes) {
  const at::Tensor at = points.unsqueeze(1), all = boxes.unsqueeze(0);
  return at::cat({at - all.narrow(2, 0, 2), all.narrow(2, 2, 2) - at}, 2);
}

at::Tensor centerness_of(const at::Tensor& distances) {
  const at::Tensor horizontal = distances.slice(-1, 0, 4, 2), vertical = distances.slice(-1, 1, 4, 2);
  const auto balance = [](const at::Tensor& pair) { return pair.amin(-1) / pair.amax(-1).clamp_min(1e-6); };
  return (balance(horizontal) * balance(vertical)).clamp_min(0).sqrt();
}

/// Returns which box each location of one image learns, and whether there is one.
struct Assignment {
  at::Tensor places = {}, is_object = {};
};

Assignment assign(const FCOSOutput& output, const at::Tensor& boxes, const at::Tensor& is_box) {
  const at::Tensor distances = distances_to(output.points, boxes);
  const at::Tensor radius = output.strides.view({-1, 1, 1}) * kCenterRadius;
  const at::Tensor centers = (boxes.narrow(1, 0, 2) + boxes.narrow(1, 2, 2)) / 2;
  const at::Tensor off_center = (output.points.unsqueeze(1) - centers.unsqueeze(0)).abs();
  const at::Tensor farthest = distances.amax(2), strides = output.strides.unsqueeze(1);
  const at::Tensor first = strides == strides.min(), last = strides == strides.max();
  const at::Tensor fits = (distances.amin(2) > 0)
                              .logical_and((off_center < radius).all(2))
                              .logical_and((farthest > strides * (kReach / 2)).logical_or(first))
                              .logical_and((farthest <= strides * kReach).logical_or(last))
                              .logical_and(is_box.unsqueeze(0));
  const at::Tensor areas = at::where(fits, box_area(boxes).unsqueeze(0), kFar);
  const auto [least, places] = areas.min(1);
  return {places, least < kFar};
}

/// Returns the focal loss of each logit.
at::Tensor focal_loss(const at::Tensor& logits, const at::Tensor& target) {
  const at::Tensor entropy = at::binary_cross_entropy_with_logits(logits, target, {}, {}, at::Reduction::None);
  const at::Tensor probability = logits.sigmoid();
  const at::Tensor miss = probability * (1 - target) + (1 - probability) * target;
  return (kAlpha * target + (1 - kAlpha) * (1 - target)) * miss.pow(kGamma) * entropy;
}

}  // namespace

FCOSTargets fcos_targets(const FCOSOutput& output, const at::Tensor& boxes, const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> all_labels, all_boxes, all_centerness;
  for (int64_t i = 0; i < boxes.size(0); ++i) {
    const auto [places, is_object] = assign(output, boxes[i], labels[i] >= 0);
    const at::Tensor own = boxes[i].index_select(0, places);
    const at::Tensor distances = at::cat({output.points - own.narrow(1, 0, 2), own.narrow(1, 2, 2) - output.points}, 1);
    all_labels.push_back(labels[i].index_select(0, places).masked_fill(is_object.logical_not(), -1));
    all_boxes.push_back(own.masked_fill(is_object.logical_not().unsqueeze(1), 0));
    all_centerness.push_back(centerness_of(distances).masked_fill(is_object.logical_not(), 0));
  }
  return {at::stack(all_labels), at::stack(all_boxes), at::stack(all_centerness)};
}

FCOSLosses fcos_losses(const FCOSOutput& output, const FCOSTargets& targets) {
  const at::Tensor classes = at_least_float(output.classes), is_object = targets.labels >= 0;
  const at::Tensor objects = is_object.sum().clamp_min(1);
  at::Tensor one_hot = at::zeros_like(classes);
  one_hot.scatter_(2, targets.labels.clamp_min(0).unsqueeze(2), is_object.unsqueeze(2).to(classes.scalar_type()));
  const at::Tensor gious = generalized_iou_of_pairs(boxes_of(output), targets.boxes);
  const at::Tensor weights = targets.centerness.to(gious.scalar_type());
  const at::Tensor off =
      at::binary_cross_entropy_with_logits(at_least_float(output.centerness), weights, {}, {}, at::Reduction::None);
  return {.classes = focal_loss(classes, one_hot).sum() / objects,
          .boxes = ((1 - gious) * weights).sum() / weights.sum().clamp_min(1e-6),
          .centerness = off.masked_fill(is_object.logical_not(), 0).sum() / objects};
}

}  // namespace levin::nn
