#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/core/ranks/comm.h>

#include <vector>

namespace levin::parallel {

/// Returns a copy of the tensor on each device, detached from the graph. Throws levin::UsageError for devices that do
/// not exist.
std::vector<at::Tensor> broadcast(const at::Tensor& tensor, const std::vector<c10::Device>& devices);
/// Returns the same for a list of tensors on one device, in a few large transfers: [device][tensor].
std::vector<std::vector<at::Tensor>> broadcast(const std::vector<at::Tensor>& tensors,
                                               const std::vector<c10::Device>& devices);

/// Replaces each device's tensor, in place, by the reduction over all devices, computed on the first device in the
/// order of the devices. Throws levin::UsageError if shapes or dtypes differ.
void all_reduce(const std::vector<at::Tensor>& tensors, ReduceOp op = ReduceOp::Sum);
/// Does the same for lists of tensors, one list per device: [device][tensor].
void all_reduce(const std::vector<std::vector<at::Tensor>>& tensors, ReduceOp op = ReduceOp::Sum);

}  // namespace levin::parallel
