#include <levin/modules/detection/boxes.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/stack.h>
#include <levin/core/system/error.h>

#include <limits>

namespace levin::nn {
namespace {

/// Areas that overlap, and those that are in one of two boxes.
struct Overlap {
  at::Tensor both = {}, either = {};
};

/// Returns the overlap of boxes whose shapes are broadcast.
Overlap overlap_of(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor first = at::maximum(a.narrow(-1, 0, 2), b.narrow(-1, 0, 2));
  const at::Tensor last = at::minimum(a.narrow(-1, 2, 2), b.narrow(-1, 2, 2));
  const at::Tensor both = (last - first).clamp_min(0).prod(-1);
  return {both, box_area(a) + box_area(b) - both};
}

at::Tensor ratio(const at::Tensor& part, const at::Tensor& whole) {
  return part / whole.clamp_min(std::numeric_limits<float>::min());
}

void check_four(const at::Tensor& boxes) {
  if (boxes.dim() < 1 || boxes.size(-1) != 4) throw UsageError("boxes: expected [..., 4], got ", boxes.sizes());
}

}  // namespace

at::Tensor convert_boxes(const at::Tensor& boxes, BoxFormat from, BoxFormat to) {
  check_four(boxes);
  if (from == to) return boxes;
  const at::Tensor first = boxes.narrow(-1, 0, 2), second = boxes.narrow(-1, 2, 2);
  const at::Tensor corner = from == BoxFormat::Cxcywh ? first - second / 2 : first;
  const at::Tensor size = from == BoxFormat::Xyxy ? second - first : second;
  switch (to) {
    case BoxFormat::Xyxy:
      return at::cat({corner, from == BoxFormat::Cxcywh ? first + second / 2 : corner + size}, -1);
    case BoxFormat::Xywh:
      return at::cat({corner, size}, -1);
    case BoxFormat::Cxcywh:
      return at::cat({from == BoxFormat::Xyxy ? (first + second) / 2 : corner + size / 2, size}, -1);
  }
  return boxes;
}

at::Tensor box_area(const at::Tensor& boxes) {
  check_four(boxes);
  return (boxes.narrow(-1, 2, 2) - boxes.narrow(-1, 0, 2)).clamp_min(0).prod(-1);
}

at::Tensor box_iou(const at::Tensor& a, const at::Tensor& b) {
  if (a.dim() != 2 || b.dim() != 2)
    throw UsageError("box_iou: expected [n, 4] and [m, 4], got ", a.sizes(), " and ", b.sizes());
  const Overlap overlap = overlap_of(a.unsqueeze(1), b.unsqueeze(0));
  return ratio(overlap.both, overlap.either);
}

at::Tensor generalized_iou_of_pairs(const at::Tensor& a, const at::Tensor& b) {
  const Overlap overlap = overlap_of(a, b);
  const at::Tensor first = at::minimum(a.narrow(-1, 0, 2), b.narrow(-1, 0, 2));
  const at::Tensor last = at::maximum(a.narrow(-1, 2, 2), b.narrow(-1, 2, 2));
  const at::Tensor hull = (last - first).clamp_min(0).prod(-1);
  return ratio(overlap.both, overlap.either) - ratio(hull - overlap.either, hull);
}

at::Tensor clip_boxes(const at::Tensor& boxes, int64_t height, int64_t width) {
  check_four(boxes);
  return at::stack({boxes.select(-1, 0).clamp(0, width), boxes.select(-1, 1).clamp(0, height),
                    boxes.select(-1, 2).clamp(0, width), boxes.select(-1, 3).clamp(0, height)},
                   -1);
}

}  // namespace levin::nn
