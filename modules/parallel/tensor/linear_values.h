#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>

namespace levin::parallel {

/// Returns the weight [out_features, in_features] and the bias [out_features] that torch::nn::Linear draws, in the
/// default dtype and without a graph; the bias is undefined without `bias`. With `initialized` false they are not
/// drawn, and their values are undefined.
std::pair<at::Tensor, at::Tensor> first_values_of_linear(int64_t in_features, int64_t out_features, bool bias,
                                                         bool initialized);

}  // namespace levin::parallel
