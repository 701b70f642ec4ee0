#pragma once
#include <ATen/core/Tensor.h>

namespace levin {

/// The tensor in the memory format channels_last where it is strided and has 4 dimensions [N, C, H, W], in
/// channels_last_3d where it has 5 [N, C, D, H, W]; others, and what lies so already, as they are. Its strides say so
/// also where there is one channel, as those of Python's `tensor.to(memory_format=torch.channels_last)`.
/// Source: https://pytorch.org/tutorials/intermediate/memory_format_tutorial.html
at::Tensor channels_last(const at::Tensor& tensor);

}  // namespace levin
