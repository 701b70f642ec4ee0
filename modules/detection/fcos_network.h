#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

namespace levin::nn {

struct FCOSNetworkOptions {
  int64_t num_classes = 1;
  int64_t width = 32;  ///< channels of the first stage, a multiple of 8; each next one has twice as many, up to 8 times
  int64_t channels = 64;     ///< of the pyramid and the heads, a multiple of 8
  int64_t first_stride = 8;  ///< pixels between two locations of the finest level: a power of 2, from 4
  int64_t levels = 3;        ///< each with twice the stride of the one before
  int64_t head_layers = 2;   ///< of each head, before its outputs
};

/// What the network says at each location of each level, the levels in sequence: [batch, locations, ...].
struct FCOSOutput {
  at::Tensor classes = {};  ///< logits [batch, locations, classes]
  at::Tensor distances =
      {};  ///< [batch, locations, 4]: from the location to the left, top, right and bottom, in pixels
  at::Tensor centerness = {};  ///< logits [batch, locations]
  at::Tensor points = {};      ///< [locations, 2]: x and y in pixels
  at::Tensor strides = {};     ///< [locations], pixels
};

/// A detector of one stage without anchors: a backbone of convolutions, a feature pyramid, and heads that all levels
/// share. Every convolution but the last ones is followed by a group norm of 8 groups and a ReLU.
///
/// Maps images [batch, 3, height, width], float. Source: Tian et al. 2019, "FCOS: Fully Convolutional One-Stage Object
/// Detection", section 3, with the centerness beside the distances, as in its section 4.1.3 and the authors' code;
/// Lin et al. 2017, "Feature Pyramid Networks for Object Detection"; the backbone is small and levin's own.
class FCOSNetworkImpl : public torch::nn::Module {
 public:
  /// Throws levin::UsageError for channels that are no multiple of 8, and a stride that is no power of 2.
  explicit FCOSNetworkImpl(FCOSNetworkOptions options);
  FCOSOutput forward(const at::Tensor& images);

  FCOSNetworkOptions options;

 private:
  std::vector<at::Tensor> pyramid_of(const at::Tensor& images);

  torch::nn::ModuleList backbone_, lateral_, smooth_;
  torch::nn::Sequential class_tower_, box_tower_;
  torch::nn::Conv2d class_output_{nullptr}, box_output_{nullptr}, centerness_output_{nullptr};
  at::Tensor scales_;  // of the distances, one for each level
};
TORCH_MODULE(FCOSNetwork);

}  // namespace levin::nn
