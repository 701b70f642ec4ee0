#pragma once
#include <torch/nn/module.h>

namespace levin {

/// Lays parameters and buffers of 4 and 5 dimensions, with their gradients, channels last, as Python's
/// `module.to(memory_format=torch.channels_last)`. The tensors stay the same objects: optimizers and views of the
/// module that hold them go on, but a tensor that shared their memory does not see the new one.
void to_channels_last(torch::nn::Module& module);

}  // namespace levin
