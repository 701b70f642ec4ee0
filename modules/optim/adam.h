#pragma once
#include <levin/trainer/core/option.h>
#include <torch/optim/adam.h>

#include <vector>

namespace levin::optim {

/// Arguments of Adam, with PyTorch's names and defaults.
struct AdamOptions {
  double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
  std::vector<double> betas = LEVIN_OPTION(
      betas, {0.9, 0.999}, "Decay of the averages of gradient and squared gradient", {.min = 0, .exclusive_max = 1});
  double eps = LEVIN_OPTION(eps, 1e-8, "Added to the denominator", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  bool amsgrad = LEVIN_OPTION(amsgrad, false, "Divide by the largest average of squares so far");
};

/// Adam: LibTorch's options and state, with checked arguments and the numbers of Python's.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.Adam.html
class Adam : public torch::optim::Adam {
 public:
  /// Throws UsageError for bad options, no parameters, or one given twice.
  explicit Adam(std::vector<at::Tensor> parameters, AdamOptions options = {});
  /// Groups whose own options are torch::optim::AdamOptions; groups without take `options`.
  explicit Adam(std::vector<torch::optim::OptimizerParamGroup> groups, AdamOptions options = {});

  /// Steps with the float operations of Python's optimizer. Throws UsageError for sparse gradients.
  at::Tensor step(LossClosure closure = nullptr) override;
};

}  // namespace levin::optim
