#pragma once
#include <ATen/core/Tensor.h>

#include <span>
#include <utility>
#include <vector>

namespace levin::parallel {

/// The tensors of one replica, each with the index of its original.
using ReplicaTensors = std::vector<std::pair<at::Tensor, size_t>>;

/// Makes the next backward pass the gradients of the replicas' parameters to `originals`, which are all on one device.
///
/// One graph node receives the gradients of all replicas and sums them on the originals' device in the order of the
/// replicas, so that the sum does not depend on thread timing. A parameter whose original requires no gradient gets
/// none. Call it before each forward; earlier graphs keep their own node.
void attach_gradients(const std::vector<at::Tensor>& originals, std::span<const ReplicaTensors> replicas);

}  // namespace levin::parallel
