#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/ranks/comm.h>
#include <torch/nn/module.h>

#include <cstddef>
#include <string>
#include <vector>

namespace levin::parallel {

/// Returns the parameters and buffers of a module, detached.
std::vector<at::Tensor> tensors_of(const torch::nn::Module& module);

/// Returns a hash of the number, shapes and dtypes of a module's parameters and buffers.
size_t hash_of_shapes(const torch::nn::Module& module);

/// Names the first parameter or buffer that differs between the ranks' modules: "net.weight has the shape [3, 4] on
/// rank 0 and [5, 4] on rank 1". Collective: all ranks call it.
std::string difference_of_shapes(const torch::nn::Module& module, Comm& comm);

}  // namespace levin::parallel
