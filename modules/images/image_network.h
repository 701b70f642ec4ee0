#pragma once
#include <levin/modules/images/pretrained_parts.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace levin::nn {

/// Maps images [batch, channels, height, width] to features [batch, features].
using ImageFeatures = std::function<at::Tensor(const at::Tensor& images)>;

/// Registers the parts of a network in a module, and returns its function.
using ImageNetworkMaker = std::function<ImageFeatures(PretrainedParts& parts, torch::nn::Module& module)>;

/// A network for images as a config.json describes it.
struct ImageNetwork {
  std::string family = {};  ///< "vit", or timm's architecture
  ImageNetworkMaker make = {};
  int64_t channels = 3;                              ///< of the images
  std::optional<std::array<int64_t, 2>> image = {};  ///< height and width; unset: any
  int64_t features = 0;                              ///< what the head takes
  std::string base = {};                             ///< "vit.": where files of a bare network have no such beginning
  std::string head = "classifier";                   ///< the path of the linear layer that makes classes of features
  double head_dropout = 0;                           ///< before the head
  std::vector<std::string> left = {};                ///< beginnings of tensors' names that a classifier does not use
};

}  // namespace levin::nn
