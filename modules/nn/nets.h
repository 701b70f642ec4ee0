#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace levin::nn {

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

/// Returns the names that `make_net` accepts: mlp, mlp_bn, lenet, resnet18.
std::vector<std::string> net_names();

/// Makes a classifier that maps images [batch, channels, height, width] to logits [batch, classes], with LibTorch's
/// default initialization, or torchvision's for resnet18. The parameters of mlp, mlp_bn and lenet are named as in a
/// torch.nn.Sequential of the same layers (`1.weight`). Throws levin::UsageError for an unknown name and an unsupported
/// image shape.
Net make_net(const std::string& name, const NetOptions& options = {});

}  // namespace levin::nn
