#pragma once
#include <levin/modules/images/image_activation.h>
#include <levin/modules/images/image_network.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::nn {

struct ConvNextNames {
  std::string stem_convolution = {}, stem_norm = {}, stages = {}, downsample = {}, blocks = {}, norm = {};
  // In a block.
  std::string convolution = {}, block_norm = {}, up = {}, down = {}, response = {};
  std::string scale = {};  ///< empty: channels have no scale
};

/// Source: Liu et al. 2022, "A ConvNet for the 2020s"; with the norm of responses Woo et al. 2023, "ConvNeXt V2".
struct ConvNextConfig {
  ConvNextNames names = {};
  int64_t channels = 3, patch = 4;
  std::vector<int64_t> widths = {}, depths = {};  ///< channels and blocks of each stage
  ImageActivation activation = ImageActivation::Gelu;
  double norm_eps = 1e-6, last_norm_eps = 1e-6;
  bool has_response_norm = false;
  int64_t response_dimensions = 4;  ///< of the files' tensors of that norm: 4, all but the last of 1, or 1
  bool convolves = false;           ///< the linear layers of a block are 1x1 convolutions in the files
  double drop_path = 0;
};

ImageNetworkMaker convnext(const ConvNextConfig& config);

}  // namespace levin::nn
