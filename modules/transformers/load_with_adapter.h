#pragma once
#include <levin/modules/nn/initial_weights.h>
#include <torch/nn/module.h>

#include <functional>

namespace levin::nn {

/// Calls `load_base`, which loads a folder's weights by load_tensors, and load_initial_weights. Weights that an adapter
/// holds in 4 or 8 bits are read from the files one by one, so that they are never all in memory as floats.
void load_with_adapter(torch::nn::Module& module, const InitialWeights& options,
                       const std::function<void()>& load_base);

}  // namespace levin::nn
