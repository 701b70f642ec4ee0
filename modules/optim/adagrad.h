#pragma once
#include <levin/trainer/core/option.h>
#include <torch/optim/adagrad.h>

#include <vector>

namespace levin::optim {

/// Arguments of Adagrad, with PyTorch's names and defaults.
struct AdagradOptions {
  double lr = LEVIN_OPTION(lr, 1e-2, "Learning rate", {.min = 0});
  double lr_decay = LEVIN_OPTION(lr_decay, 0, "Decay of the learning rate with each step", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0, "L2 penalty", {.min = 0});
  double initial_accumulator_value =
      LEVIN_OPTION(initial_accumulator_value, 0, "Sum of squared gradients to begin with", {.min = 0});
  double eps = LEVIN_OPTION(eps, 1e-10, "Added to the denominator", {.min = 0});
};

/// Adagrad: LibTorch's, with checked arguments.
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.Adagrad.html
class Adagrad : public torch::optim::Adagrad {
 public:
  /// Throws UsageError for bad options, no parameters, or one given twice.
  explicit Adagrad(std::vector<at::Tensor> parameters, AdagradOptions options = {});
  /// Groups whose own options are torch::optim::AdagradOptions; groups without take `options`.
  explicit Adagrad(std::vector<torch::optim::OptimizerParamGroup> groups, AdagradOptions options = {});
};

}  // namespace levin::optim
