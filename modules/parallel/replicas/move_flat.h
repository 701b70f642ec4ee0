#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <vector>

namespace levin::parallel {

/// `tensor` on `device`, without waiting for the copy where only that device will see it; the CPU could read too early.
at::Tensor move_to(const at::Tensor& tensor, c10::Device device);

/// The tensors, all on one device, on `device`: in few large transfers (one for each dtype and 256 MB) instead of one
/// for each tensor. What is there already is shared. Gradients flow back where the mode records them.
///
/// The results share the memory of their transfer. Sparse tensors travel by themselves.
std::vector<at::Tensor> move_flat(const std::vector<at::Tensor>& tensors, c10::Device device);

/// Copies `from`, all on one device, into the tensors `to`, all on one device, of the same shapes. In place, for memory
/// whose gradients nobody asks for: call it without gradients.
void copy_flat(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& to);

}  // namespace levin::parallel
