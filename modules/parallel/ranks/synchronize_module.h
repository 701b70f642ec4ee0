#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/ranks/process_group.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <vector>

namespace levin::parallel {

/// Broadcasts the parameters and buffers of rank 0, except those without memory, which a ShardedConstruction has
/// divided among the ranks. Collective: all ranks call it. Throws levin::UsageError on all ranks if the tensors differ
/// between ranks in number, shape or dtype.
void synchronize_module(torch::nn::Module& module, ProcessGroup& group);

/// Broadcasts the buffers of a rank. Collective: all ranks call it.
void broadcast_buffers(torch::nn::Module& module, ProcessGroup& group, int64_t source);

/// Broadcasts a rank's values of tensors, if there are any. Collective: all ranks call it.
void broadcast_tensors(std::vector<at::Tensor> tensors, ProcessGroup& group, int64_t source);

}  // namespace levin::parallel
