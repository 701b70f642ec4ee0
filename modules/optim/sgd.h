#pragma once
#include <levin/trainer/core/option.h>
#include <torch/optim/sgd.h>

#include <vector>

namespace levin::optim {

/// Arguments of SGD, with PyTorch's names and defaults.
struct SGDOptions {
  double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
  double momentum = LEVIN_OPTION(momentum, 0, "Momentum factor", {.min = 0});
  double dampening = LEVIN_OPTION(dampening, 0, "Dampening of the momentum");
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  bool nesterov = LEVIN_OPTION(nesterov, false, "Nesterov momentum; needs momentum and no dampening");
};

/// Stochastic gradient descent, with momentum where asked: LibTorch's, with checked arguments.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.SGD.html
class SGD : public torch::optim::SGD {
 public:
  /// Throws UsageError for bad options, no parameters, or one given twice.
  explicit SGD(std::vector<at::Tensor> parameters, SGDOptions options = {});
  /// Groups whose own options are torch::optim::SGDOptions; groups without take `options`.
  explicit SGD(std::vector<torch::optim::OptimizerParamGroup> groups, SGDOptions options = {});
};

}  // namespace levin::optim
