#pragma once
#include <levin/trainer/core/option.h>
#include <torch/optim/rmsprop.h>

#include <vector>

namespace levin::optim {

/// Arguments of RMSprop, with PyTorch's names and defaults.
struct RMSpropOptions {
  double lr = LEVIN_OPTION(lr, 1e-2, "Learning rate", {.min = 0});
  double alpha = LEVIN_OPTION(alpha, 0.99, "Decay of the average of squared gradients", {.min = 0});
  double eps = LEVIN_OPTION(eps, 1e-8, "Added to the denominator", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  double momentum = LEVIN_OPTION(momentum, 0, "Momentum factor", {.min = 0});
  bool centered = LEVIN_OPTION(centered, false, "Divide by an estimate of the variance, not of the square");
};

/// RMSprop: LibTorch's options and state, with checked arguments and the numbers of Python's.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.RMSprop.html
class RMSprop : public torch::optim::RMSprop {
 public:
  /// Throws UsageError for bad options, no parameters, or one given twice.
  explicit RMSprop(std::vector<at::Tensor> parameters, RMSpropOptions options = {});
  /// Groups whose own options are torch::optim::RMSpropOptions; groups without take `options`.
  explicit RMSprop(std::vector<torch::optim::OptimizerParamGroup> groups, RMSpropOptions options = {});

  /// Steps with the float operations of Python's optimizer. Throws UsageError for sparse gradients.
  at::Tensor step(LossClosure closure = nullptr) override;
};

}  // namespace levin::optim
