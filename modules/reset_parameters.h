#pragma once
#include <torch/nn/module.h>

namespace levin {

/// Draws the parameters of one of LibTorch's layers anew, as when the layer was made; those of its submodules stay.
/// Returns false, and does nothing, for a module of another kind: only LibTorch's layers can be told to.
bool reset_parameters(torch::nn::Module& module);

}  // namespace levin
