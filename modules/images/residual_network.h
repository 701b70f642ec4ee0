#pragma once
#include <levin/modules/images/image_activation.h>
#include <levin/modules/images/image_network.h>

#include <cstdint>
#include <vector>

namespace levin::nn {

/// How the parts of a network are called.
enum class ImageNames : uint8_t { Transformers, Timm };

/// Source: He et al. 2016, "Deep Residual Learning for Image Recognition".
struct ResidualNetworkConfig {
  ImageNames names = ImageNames::Transformers;
  int64_t channels = 3, stem = 64;
  std::vector<int64_t> widths = {}, depths = {};  ///< output channels and blocks of each stage
  bool bottleneck = true;                         ///< blocks of three convolutions, the middle one with a quarter
  bool stride_in_first = false;                   ///< a bottleneck's first convolution has the stride, not the middle
  bool first_stage_halves = false;
  ImageActivation activation = ImageActivation::Relu;  ///< of the stem and behind a block
};

ImageNetworkMaker residual_network(const ResidualNetworkConfig& config);

}  // namespace levin::nn
