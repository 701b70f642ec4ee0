#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/detection/fcos_network.h>

namespace levin::nn {

/// What each location of each image is to say: [batch, locations].
struct FCOSTargets {
  at::Tensor labels = {};      ///< int64; -1: nothing is there
  at::Tensor boxes = {};       ///< float32 [batch, locations, 4], x1, y1, x2, y2; 0 where nothing is there
  at::Tensor centerness = {};  ///< float32; 0 where nothing is there
};

/// Returns the targets for `boxes` float32 [batch, most, 4] and `labels` int64 [batch, most], where rows of negative
/// labels are left out. A location learns the box in whose middle it lies, no farther than 1.5 strides from the centre,
/// if the box's farthest side is within the reach of its level: from 4 to 8 strides, for the first level also less, for
/// the last also more. Of several boxes it learns the smallest. Source: Tian et al. 2019, "FCOS", section 3.1 and
/// equation 3; the middle is that of Tian et al. 2020, "FCOS: A Simple and Strong Anchor-free Object Detector",
/// section 2.
FCOSTargets fcos_targets(const FCOSOutput& output, const at::Tensor& boxes, const at::Tensor& labels);

/// Three scalars, whose sum is the loss.
struct FCOSLosses {
  at::Tensor classes = {}, boxes = {}, centerness = {};
};

/// Returns the focal loss of the classes (alpha 0.25, gamma 2), summed over locations, and the cross-entropy of the
/// centerness, both per location with an object; and 1 - GIoU of the boxes, weighted by the centerness. Computes in
/// float32 at least. Source: Lin et al. 2017, "Focal Loss for Dense Object Detection", equation 5; Tian et al. 2019,
/// equation 2.
FCOSLosses fcos_losses(const FCOSOutput& output, const FCOSTargets& targets);

}  // namespace levin::nn
