#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace levin {

/// Combines the parts of all ranks, `bytes` each, in the order of the ranks. `result` may be one of them.
void combine(at::ScalarType dtype, c10d::ReduceOp::RedOpType op, std::byte* result,
             const std::vector<const std::byte*>& parts, int64_t bytes);

}  // namespace levin
