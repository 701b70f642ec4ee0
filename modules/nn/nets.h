#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace levin::nn {

/// The networks that `make_net` makes.
enum class NamedNet : uint8_t { Mlp, MlpBn, LeNet, ResNet18 };
inline constexpr auto kNetNames =
    std::to_array<std::pair<std::string_view, NamedNet>>({{"mlp", NamedNet::Mlp},
                                                          {"mlp_bn", NamedNet::MlpBn},
                                                          {"lenet", NamedNet::LeNet},
                                                          {"resnet18", NamedNet::ResNet18}});

struct NetOptions {
  int64_t hidden = 64;                             ///< units of the hidden layer of `mlp` and `mlp_bn`
  std::vector<int64_t> image_shape = {1, 28, 28};  ///< channels, height, width; `resnet18` takes any height and width
  int64_t num_classes = 10;
  bool small_input = false;  ///< `resnet18` only: see ResNet18Options
};

/// A module of any class whose forward takes and returns one tensor.
struct Net {
  std::shared_ptr<torch::nn::Module> module = {};
  std::function<at::Tensor(const at::Tensor&)> forward = {};
};

/// Makes a classifier that maps images [batch, channels, height, width] to logits [batch, classes], with LibTorch's
/// default initialization, or torchvision's for resnet18. The parameters of mlp, mlp_bn and lenet are named as in a
/// torch.nn.Sequential of the same layers (`1.weight`). Throws levin::UsageError for an unsupported image shape.
Net make_net(NamedNet net, const NetOptions& options = {});
/// Makes the net of a name in `kNetNames`. Throws levin::UsageError for another one too.
Net make_net(const std::string& name, const NetOptions& options = {});

}  // namespace levin::nn
