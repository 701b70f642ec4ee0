#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace levin::nn {

/// Non-maximum suppression of each class by itself: goes through the boxes by falling score, equal scores in their
/// order, and leaves out those whose IoU with a kept box of their label is more than `iou_threshold`. Returns the
/// places of the kept boxes in that order, int64 [kept], at most `most`, on the CPU.
///
/// `boxes` xyxy [n, 4] and `scores` [n] floating, `labels` integers [n]; a box whose score is NaN is left out. Computes
/// in double on the host. Throws levin::UsageError for other shapes and dtypes.
at::Tensor nms(const at::Tensor& boxes, const at::Tensor& scores, const at::Tensor& labels, double iou_threshold,
               int64_t most);

}  // namespace levin::nn
