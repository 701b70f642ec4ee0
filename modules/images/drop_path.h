#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace levin::nn {

/// Sets what a block computes to zero for some samples [batch, ...], each with probability `rate`, and divides the rest
/// by 1 - rate; without training, and at a rate of 0, it returns `x`.
/// Source: Huang et al. 2016, "Deep Networks with Stochastic Depth".
at::Tensor drop_path(const at::Tensor& x, double rate, bool training);

/// Returns the rates of `blocks` blocks, from 0 to `last` in equal steps.
std::vector<double> drop_path_rates(double last, int64_t blocks);

}  // namespace levin::nn
