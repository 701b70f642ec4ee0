#pragma once
#include <levin/modules/parallel/tensor/tensor_parallel.h>
#include <torch/nn/module.h>

namespace levin::parallel {

/// Divides each part of a module that derives from TensorParallel and is not divided yet among the ranks of `group`,
/// and gives the other parameters and the buffers rank 0's values. Collective: all ranks of the group call it. Throws
/// levin::UsageError if a part cannot be divided or has an adapter, or if the module has no such part; nothing is
/// changed then.
void divide_module(torch::nn::Module& module, const TensorGroup& group);

/// Makes all parts of a module whole again. Collective: all ranks of the group call it.
void join_module(torch::nn::Module& module);

}  // namespace levin::parallel
