#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// A gradient that an optimizer's next step uses: that of a parameter, or this rank's part of it.
struct ParameterGradient {
  std::string name = {};      ///< of the parameter in the module; empty if it is none of the module's
  at::Tensor parameter = {};  ///< the module's own, whole
  at::Tensor gradient = {};   ///< what is written to it changes the step; 1-dimensional if it is a part
  bool is_part = false;       ///< the other ranks have the other parts
  int64_t begin = 0;          ///< the part's first element, counted in the parameter's memory

  /// Returns the elements of a tensor of the parameter's shape that belong to `gradient`, in its shape.
  at::Tensor part_of(const at::Tensor& whole) const;
};

/// Returns the gradients that the next step of `optimizer` uses, for hooks such as on_before_optimizer_step. It is the
/// way that is right under every strategy: under `zero1` and `fsdp` the optimizer's groups hold this rank's parts
/// of the parameters, and a parameter's `grad()` is a part or nothing:
///
///     for (auto& [name, parameter, gradient, is_part, begin] : levin::gradients_of(run.module(), optimizer))
///       gradient.mul_(0.5);
std::vector<ParameterGradient> gradients_of(const torch::nn::Module& module, const torch::optim::Optimizer& optimizer);

namespace detail {
/// Returns how often gradients_of was called in this process.
int64_t calls_of_gradients_of();
}  // namespace detail

/// Returns the norm of each parameter's whole gradient, with the parameter's name, on the gradients' device.
/// `norm_type`: greater than 0, or infinity. Collective if parameters are divided among ranks: all ranks call it.
std::vector<std::pair<std::string, at::Tensor>> gradient_norms(const torch::nn::Module& module,
                                                               const torch::optim::Optimizer& optimizer,
                                                               double norm_type);

/// Returns the module's parameters in each of an optimizer's groups, also if the groups hold parts of them.
std::vector<std::vector<at::Tensor>> whole_groups(const torch::optim::Optimizer& optimizer);

}  // namespace levin
