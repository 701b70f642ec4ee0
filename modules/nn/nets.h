#pragma once
#include <torch/nn/modules/container/sequential.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::nn {

struct NetOptions {
  int64_t hidden = 64;  ///< units of the hidden layer of `mlp` and `mlp_bn`
};

/// The names that `make_net` knows: mlp, mlp_bn, lenet.
const std::vector<std::string>& net_names();

/// A small classifier of images [batch, 1, 28, 28] into logits [batch, 10], with LibTorch's own initial weights.
/// Its parameters are named as in the torch.nn.Sequential of the same layers (`1.weight`). Throws levin::UsageError for
/// an unknown name.
torch::nn::Sequential make_net(const std::string& name, NetOptions options = {});

}  // namespace levin::nn
