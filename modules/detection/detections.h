#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/detection/fcos_network.h>

#include <cstdint>

namespace levin::nn {

/// Detected boxes of a batch, by falling score, and rows that only fill up.
struct Detections {
  at::Tensor boxes = {};   ///< float32 [batch, most, 4]: x1, y1, x2, y2; 0 in rows that fill up
  at::Tensor scores = {};  ///< float32 [batch, most], from 0 to 1; 0 in rows that fill up
  at::Tensor labels = {};  ///< int64 [batch, most]; -1 in rows that fill up
};

struct DetectionLimits {
  double score_threshold = 0.05;
  double nms_threshold = 0.6;
  int64_t candidates = 1000;      ///< of an image, before those that overlap are left out
  int64_t most = 100;             ///< of an image
  int64_t height = 0, width = 0;  ///< pixels, where boxes are cut
};

/// Returns the tensor in float32, or as it is if it is float64.
at::Tensor at_least_float(const at::Tensor& tensor);

/// Returns the predicted boxes x1, y1, x2, y2 of all locations, in float32 at least: [batch, locations, 4].
at::Tensor boxes_of(const FCOSOutput& output);

/// Returns the scores, the root of a class's probability times the centerness: [batch, locations, classes]. Source:
/// Tian et al. 2020, section 2.
at::Tensor scores_of(const FCOSOutput& output);

/// Chooses each image's boxes on the host, and returns them on the device of the output. Throws levin::UsageError while
/// a program is recorded.
Detections choose_detections(const FCOSOutput& output, const DetectionLimits& limits);

}  // namespace levin::nn
