#pragma once
#include <ATen/core/Tensor.h>

namespace levin {

/// Returns the tensor in the memory format channels_last if it is strided and has 4 dimensions [N, C, H, W], in
/// channels_last_3d if it has 5 [N, C, D, H, W], and unchanged otherwise. As in Python's
/// `tensor.to(memory_format=torch.channels_last)`, the strides are those of the format even with one channel.
/// Source: https://pytorch.org/tutorials/intermediate/memory_format_tutorial.html
at::Tensor channels_last(const at::Tensor& tensor);

}  // namespace levin
