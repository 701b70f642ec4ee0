#pragma once
#include <levin/modules/images/image_activation.h>
#include <levin/modules/images/image_network.h>

#include <array>
#include <cstdint>
#include <string>

namespace levin::nn {

/// What stands for the whole image behind the last block.
enum class TokenPool : uint8_t { First, Mean };

/// The paths of a vision transformer's parts.
struct VisionTransformerNames {
  std::string class_token = {}, distillation_token = {}, positions = {}, patches = {}, blocks = {}, norm = {};
  // In a block. Either `fused`, or the three.
  std::string norm_before = {}, norm_after = {}, fused = {}, query = {}, key = {}, value = {};
  std::string output = {}, up = {}, down = {};
  std::string attention_scale = {}, feed_forward_scale = {};  ///< of a scale for each channel; empty: there is none
};

/// Source: Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words"; with a token of distillation Touvron et al. 2021,
/// "Training data-efficient image transformers".
struct VisionTransformerConfig {
  VisionTransformerNames names = {};
  std::array<int64_t, 2> image = {224, 224}, patch = {16, 16};  ///< height and width
  int64_t channels = 3, hidden = 768, layers = 12, heads = 12, intermediate = 3072;
  ImageActivation activation = ImageActivation::Gelu;
  double norm_eps = 1e-6;
  bool query_key_value_bias = true;
  TokenPool pool = TokenPool::First;  ///< Mean: the mean of the patches, which is normalized then
  double hidden_dropout = 0, attention_dropout = 0, drop_path = 0;
  /// For images of another size the table of positions is resized as timm does it, which averages what becomes smaller;
  /// otherwise as transformers does it.
  bool antialiased_positions = false;
};

/// The network takes images of `image`, and others whose table of positions is then resized by bicubic interpolation.
/// It throws levin::UsageError for images smaller than a patch.
ImageNetworkMaker vision_transformer(const VisionTransformerConfig& config);

}  // namespace levin::nn
