#pragma once
#include <torch/nn/module.h>

namespace levin {

/// Converts parameters and buffers of 4 and 5 dimensions, with their gradients, to channels-last memory format, like
/// Python's `module.to(memory_format=torch.channels_last)`. The tensor objects stay the same, so optimizers that hold
/// them keep working, but a tensor that shared their memory does not see the new memory.
void to_channels_last(torch::nn::Module& module);

}  // namespace levin
