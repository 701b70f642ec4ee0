#pragma once
#include <ATen/core/Tensor.h>

namespace levin::optim::detail {

/// `ratio` of a tensor's own rate; 1 where the norm of the parameter or the other one is 0, so that a tensor of zeros,
/// or one without a gradient, takes its step as it is. All are scalars of one device.
at::Tensor trust_ratio(const at::Tensor& norm_of_parameter, const at::Tensor& other_norm, const at::Tensor& ratio);

}  // namespace levin::optim::detail
