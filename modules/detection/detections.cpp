#include <levin/modules/detection/detections.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/modules/detection/boxes.h>
#include <levin/modules/detection/nms.h>
#include <levin/modules/recording/is_recording.h>

#include <algorithm>

namespace levin::nn {

at::Tensor at_least_float(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? tensor : tensor.to(at::kFloat);
}

at::Tensor boxes_of(const FCOSOutput& output) {
  const at::Tensor distances = at_least_float(output.distances);
  return at::cat({output.points - distances.narrow(2, 0, 2), output.points + distances.narrow(2, 2, 2)}, 2);
}

at::Tensor scores_of(const FCOSOutput& output) {
  return (at_least_float(output.classes).sigmoid() * at_least_float(output.centerness).sigmoid().unsqueeze(2)).sqrt();
}

Detections choose_detections(const FCOSOutput& output, const DetectionLimits& limits) {
  if (recording::is_recording())
    throw UsageError(
        "FCOS: predict_step chooses boxes on the host, which a program cannot hold; export forward, which "
        "gives all boxes and scores (--function forward)");
  const at::Tensor all_boxes = clip_boxes(boxes_of(output), limits.height, limits.width).to(at::kCPU, at::kFloat),
                   all_scores = scores_of(output).to(at::kCPU, at::kFloat);
  const int64_t batch = all_boxes.size(0), classes = all_scores.size(2);
  Detections found{.boxes = at::zeros({batch, limits.most, 4}),
                   .scores = at::zeros({batch, limits.most}),
                   .labels = at::full({batch, limits.most}, -1, at::kLong)};
  for (int64_t i = 0; i < batch; ++i) {
    const at::Tensor flat = all_scores[i].flatten();
    const auto [scores, places] = flat.topk(std::min(limits.candidates, flat.numel()));
    const int64_t count = (scores > limits.score_threshold).sum().item<int64_t>();
    const at::Tensor likely = places.narrow(0, 0, count), labels = likely.remainder(classes);
    const at::Tensor boxes = all_boxes[i].index_select(0, likely.floor_divide(classes));
    const at::Tensor kept = nms(boxes, scores.narrow(0, 0, count), labels, limits.nms_threshold, limits.most);
    found.boxes[i].narrow(0, 0, kept.size(0)).copy_(boxes.index_select(0, kept));
    found.scores[i].narrow(0, 0, kept.size(0)).copy_(scores.index_select(0, kept));
    found.labels[i].narrow(0, 0, kept.size(0)).copy_(labels.index_select(0, kept));
  }
  const c10::Device device = output.classes.device();
  return {found.boxes.to(device), found.scores.to(device), found.labels.to(device)};
}

}  // namespace levin::nn
