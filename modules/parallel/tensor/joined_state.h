#pragma once
#include <levin/core/state/state.h>
#include <levin/modules/parallel/tensor/partition.h>
#include <levin/modules/parallel/tensor/tensor_collectives.h>
#include <torch/nn/module.h>

#include <vector>

namespace levin {
class ProcessGroup;
}

namespace levin::parallel {

/// Returns the ranks among which layers of the module are divided; null if it has no such layer.
TensorGroup tensor_group_of(const torch::nn::Module& module);

/// Returns tensors, by names of the module's parameters and buffers, with those whole of which the ranks of a tensor
/// group have parts: on the group's rank 0, and none on the others. If the module is not divided, returns them as they
/// are. Collective: all ranks of the group call it, with the same names.
State join_tensors(const torch::nn::Module& module, const State& by_name);

/// Makes the tensors of an optimizer's state whole, on the group's rank 0; on the others the state is of no use
/// afterwards. `state` has the layout of Python's optimizers. `partitions`: how each of the optimizer's `parameters` is
/// divided; null for one that is not. Collective: all ranks of the group call it.
void join_optimizer_state(State& state, const std::vector<at::Tensor>& parameters,
                          const std::vector<const Partition*>& partitions, ProcessGroup& group);

/// Returns this rank's part of such a state.
State own_optimizer_state(const State& whole, const std::vector<at::Tensor>& parameters,
                          const std::vector<const Partition*>& partitions);

}  // namespace levin::parallel
