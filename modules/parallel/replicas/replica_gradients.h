#pragma once
#include <ATen/core/Tensor.h>

#include <span>
#include <utility>
#include <vector>

namespace levin::parallel {

/// The tensors of one replica that stand for those of the original, each with the index of its original.
using ReplicaTensors = std::vector<std::pair<at::Tensor, size_t>>;

/// Makes the next backward hand the gradients of the replicas' parameters to `originals`, all on one device.
///
/// One node of the graph takes those of all replicas and sums them on the originals' device in the order of the
/// replicas, whatever thread computed them first. A parameter whose original requires no gradient gets none. To be
/// called anew before each forward; a graph made before keeps its own node.
void attach_gradients(const std::vector<at::Tensor>& originals, std::span<const ReplicaTensors> replicas);

}  // namespace levin::parallel
