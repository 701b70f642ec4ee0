#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <vector>

namespace levin::parallel {

/// Returns `tensor` on `device`. The copy is asynchronous unless the target is the CPU, which could read the memory too
/// early.
at::Tensor move_to(const at::Tensor& tensor, c10::Device device);

/// Moves the tensors, all on one device, to `device` in a few large transfers (one per dtype and 256 MB) instead of one
/// per tensor. Tensors that are already on `device` are shared. Gradients flow back if the grad mode records them.
///
/// The results of one transfer share its memory. Sparse tensors are moved one by one.
std::vector<at::Tensor> move_flat(const std::vector<at::Tensor>& tensors, c10::Device device);

/// Copies `from`, all on one device, into the tensors `to`, all on one device, of the same shapes. In place and not
/// differentiable: call it with gradients disabled.
void copy_flat(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& to);

}  // namespace levin::parallel
