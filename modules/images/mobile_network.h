#pragma once
#include <levin/modules/images/conv_norm.h>
#include <levin/modules/images/image_network.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin::nn {

struct NamedConvNorm {
  ConvNormNames names = {};
  ConvNormShape shape = {};
};

/// Multiplies channels by numbers that follow from their means: two 1x1 convolutions with ReLU between and a hard
/// sigmoid behind. Source: Hu et al. 2018, "Squeeze-and-Excitation Networks".
struct SqueezeShape {
  int64_t channels = 0, narrow = 0;
  std::string reduce = "se.conv_reduce", expand = "se.conv_expand";
};

/// Convolutions one after another, perhaps with a residual connection around them.
struct MobileBlockShape {
  std::string path = {};  ///< of the block's module
  std::vector<NamedConvNorm> convolutions = {};
  std::optional<SqueezeShape> squeeze = {};
  size_t squeeze_behind = 0;  ///< the number of the convolution that it follows
  bool is_residual = false;
  double drop_path = 0;
};

/// A chain of blocks, the mean over the image, and perhaps a 1x1 convolution with a bias behind it.
/// Source: Howard et al. 2017, "MobileNets"; Sandler et al. 2018, "MobileNetV2"; Howard et al. 2019, "Searching for
/// MobileNetV3".
struct MobileNetworkConfig {
  std::vector<MobileBlockShape> blocks = {};  ///< those with an empty path have their layers in the module itself
  std::string head_convolution = {};          ///< empty: none
  int64_t head_in = 0, head_out = 0;
  ImageActivation head_activation = ImageActivation::None;
};

ImageNetworkMaker mobile_network(const MobileNetworkConfig& config);

/// Returns `channels` rounded to a multiple of `divisor`, at least `least`, and by no more than a tenth down.
int64_t rounded_channels(double channels, int64_t divisor, int64_t least);

}  // namespace levin::nn
