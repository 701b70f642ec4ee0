#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>
#include <torch/csrc/autograd/variable.h>

namespace levin::nn::fused {

using torch::autograd::variable_list;

/// Returns the gradients of `inputs` from that of `plain(inputs)`, a function by ATen's operators, with a graph of
/// their own: what a backward pass returns that is itself differentiated. Undefined for inputs without a gradient.
variable_list graph_gradients(c10::function_ref<at::Tensor(const variable_list&)> plain, const variable_list& inputs,
                              const at::Tensor& gradient);

}  // namespace levin::nn::fused
