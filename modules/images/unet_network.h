#pragma once
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

namespace levin::nn {

struct UNetShape {
  int64_t in_channels = 3;
  int64_t num_classes = 2;
  int64_t base_channels = 64;  ///< of the first level; each level below has twice as many
  int64_t depth = 4;           ///< how often the size is halved
  bool batch_norm = true;      ///< behind each 3x3 convolution, which then has no bias
};

/// Maps images [batch, in_channels, height, width], float, to logits [batch, num_classes, height, width].
///
/// Each level has two 3x3 convolutions with ReLU; a max-pool leads down, a transposed convolution back up, and each
/// level on the way up also sees the output of the same level on the way down. As is common today, convolutions are
/// padded, so that sizes stay, and a level whose size is odd gets a column or row of zeros on its way up.
/// Parameters are named `encoder.0.conv1.weight`, `encoder.0.norm1.weight`, `decoder.0.up.weight`,
/// `decoder.0.conv1.weight` and `head.weight`, and so on; decoder.0 is the deepest.
/// Source: Ronneberger et al. 2015, "U-Net: Convolutional Networks for Biomedical Image Segmentation".
class UNetNetworkImpl : public torch::nn::Module {
 public:
  explicit UNetNetworkImpl(UNetShape shape = {});

  at::Tensor forward(const at::Tensor& images);

 private:
  UNetShape shape_;
  torch::nn::ModuleList encoder_, decoder_;
  torch::nn::Conv2d head_;
};
TORCH_MODULE(UNetNetwork);

}  // namespace levin::nn
