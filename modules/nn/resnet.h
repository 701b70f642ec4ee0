#pragma once
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

namespace levin::nn {

struct ResNet18Options {
  int64_t num_classes = 1000;
  int64_t in_channels = 3;
  /// For images of about 32x32: the first convolution is 3x3 and keeps the size, and no max-pool follows it.
  bool small_input = false;
};

/// A residual network of 18 layers: maps images [batch, in_channels, height, width], float, to logits [batch,
/// num_classes].
///
/// Parameters, buffers and, with the same torch::manual_seed, initial weights are those of torchvision's resnet18,
/// whose weight files can be loaded; of these `small_input` changes only conv1 (section 4.2 of the paper).
/// Source: He et al. 2016, "Deep Residual Learning for Image Recognition";
/// https://docs.pytorch.org/vision/stable/models/generated/torchvision.models.resnet18.html
class ResNet18Impl : public torch::nn::Module {
 public:
  explicit ResNet18Impl(ResNet18Options options = {});

  at::Tensor forward(const at::Tensor& images);

  ResNet18Options options;
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Sequential layer1, layer2, layer3, layer4;
  torch::nn::Linear fc;
};
TORCH_MODULE(ResNet18);

}  // namespace levin::nn
