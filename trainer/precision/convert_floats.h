#pragma once
#include <c10/core/ScalarType.h>
#include <torch/nn/module.h>

namespace levin {

/// Converts the floating-point parameters and buffers of a module by its `to`, and leaves the others alone, as Python's
/// `Module.to` does: C++'s converts integers as well, such as a batch norm's count of batches.
void convert_floats(torch::nn::Module& module, at::ScalarType dtype);

}  // namespace levin
