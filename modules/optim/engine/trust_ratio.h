#pragma once
#include <ATen/core/Tensor.h>

namespace levin::optim::detail {

/// Returns `ratio`, or 1 if either norm is 0, so that a tensor of zeros or with a zero gradient takes an unscaled step.
/// All are scalars on one device.
at::Tensor trust_ratio(const at::Tensor& norm_of_parameter, const at::Tensor& other_norm, const at::Tensor& ratio);

}  // namespace levin::optim::detail
