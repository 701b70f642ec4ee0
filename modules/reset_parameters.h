#pragma once
#include <torch/nn/module.h>

namespace levin {

/// Initializes the parameters of one of LibTorch's layers again, as its constructor did. Parameters of its submodules
/// keep their values.
/// Returns false, and does nothing, for a module of another kind: only LibTorch's layers can be told to.
bool reset_parameters(torch::nn::Module& module);

}  // namespace levin
