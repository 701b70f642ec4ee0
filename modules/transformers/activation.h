#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace levin::nn {

/// The function between the layers of a feed-forward network.
enum class Activation : uint8_t { Gelu, GeluTanh, Relu, Silu };

/// Returns the function of each number of `x`, of any shape.
at::Tensor activated(const at::Tensor& x, Activation activation);

}  // namespace levin::nn
