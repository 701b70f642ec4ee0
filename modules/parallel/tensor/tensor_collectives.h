#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/parallel/tensor/partition.h>
#include <levin/modules/parallel/tensor/tensor_parallel.h>

#include <cstdint>

namespace levin::parallel {

// Collectives of a tensor group with gradients, between values that are the same on all its ranks ("whole") and parts
// of them. All ranks of the group call them in the same order, and run the same backward. Sums have the same bits on
// all ranks. Where the group is null they return `x`. Tensors of 16 bit on the CPU are added in float32. Source:
// Shoeybi et al., Megatron-LM, 2019, https://arxiv.org/abs/1909.08053

/// Returns `x`, which is whole; backward adds the gradients of all ranks. It stands before a layer whose ranks compute
/// different parts of the output.
at::Tensor copy_to_tensor_group(const at::Tensor& x, const TensorGroup& group);

/// Returns the sum of all ranks' `x`; backward gives each rank the gradient as it is. It stands after a layer whose
/// ranks compute different summands.
at::Tensor reduce_from_tensor_group(const at::Tensor& x, const TensorGroup& group);

/// Returns the whole tensor of which `x` is this rank's part; the ranks of `partition` are those of the group. Backward
/// gives each rank its part of the gradient, which is whole. Throws levin::UsageError if `x` has another size than this
/// rank's part.
at::Tensor gather_from_tensor_group(const at::Tensor& x, Partition partition, const TensorGroup& group);

/// Returns this rank's part of `x`, which is whole, along `dim`; backward gathers the gradients of the parts.
at::Tensor scatter_to_tensor_group(const at::Tensor& x, int64_t dim, const TensorGroup& group);

/// Returns the whole tensor of which `part` is this rank's part; no gradient flows through it. Collective: all ranks of
/// the group call it.
at::Tensor gather_parts(const at::Tensor& part, const Partition& partition, ProcessGroup& group);

/// Returns the sum of all ranks' `x`; no gradient flows through it. Collective: all ranks of the group call it.
at::Tensor sum_over(const at::Tensor& x, ProcessGroup& group);

}  // namespace levin::parallel
