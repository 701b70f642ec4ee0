#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/parallel/tensor/tensor_parallel.h>

#include <cstdint>

namespace levin::parallel {

/// Returns `part`, this rank's share along `dim` of a tensor that the ranks of `group` divide evenly, with dropout as
/// in training: elements are zero at the rate `rate`, and the others are divided by 1 - rate. All ranks draw for the
/// whole tensor, so that each element has the number that one process draws for it, and the ranks' generators stay the
/// same. `group` is not null.
at::Tensor dropout_of_part(const at::Tensor& part, int64_t dim, double rate, const TensorGroup& group);

}  // namespace levin::parallel
