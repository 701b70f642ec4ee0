#include <levin/modules/parallel/replicas/collectives.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_maximum.h>
#include <ATen/ops/_foreach_minimum.h>
#include <ATen/ops/empty_like.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/replicas/move_flat.h>
#include <levin/modules/parallel/replicas/replica_devices.h>

namespace levin::parallel {
namespace {

void check_alike(const std::vector<std::vector<at::Tensor>>& tensors) {
  const auto& first = tensors.front();
  for (size_t d = 0; d < tensors.size(); ++d) {
    if (tensors[d].size() != first.size())
      throw UsageError("all_reduce: ", first.size(), " tensors on the first device, ", tensors[d].size(), " on device ",
                       d);
    for (size_t i = 0; i < first.size(); ++i) {
      const at::Tensor& tensor = tensors[d][i];
      if (!tensor.defined()) throw UsageError("all_reduce: tensor ", i, " of device ", d, " is undefined");
      if (tensor.sizes() != first[i].sizes() || tensor.scalar_type() != first[i].scalar_type())
        throw UsageError("all_reduce: tensor ", i, " is ", first[i].scalar_type(), " ", first[i].sizes(),
                         " on the first device, ", tensor.scalar_type(), " ", tensor.sizes(), " on device ", d);
      if (tensor.device() != tensors[d].front().device())
        throw UsageError("all_reduce: the tensors of device ", d, " are on ", tensors[d].front().device(), " and ",
                         tensor.device());
    }
  }
}

}  // namespace

std::vector<at::Tensor> broadcast(const at::Tensor& tensor, const std::vector<c10::Device>& devices) {
  std::vector<at::Tensor> copies;
  for (auto& list : broadcast(std::vector{tensor}, devices)) copies.push_back(std::move(list[0]));
  return copies;
}

std::vector<std::vector<at::Tensor>> broadcast(const std::vector<at::Tensor>& tensors,
                                               const std::vector<c10::Device>& devices) {
  const at::NoGradGuard no_grad;
  std::vector<std::vector<at::Tensor>> copies;
  for (const c10::Device device : checked_devices(devices, "broadcast")) {
    std::vector<at::Tensor>& list = copies.emplace_back();
    for (const at::Tensor& tensor : tensors) list.push_back(at::empty_like(tensor, device));
    copy_flat(tensors, list);
  }
  return copies;
}

void all_reduce(const std::vector<at::Tensor>& tensors, ReduceOp op) {
  std::vector<std::vector<at::Tensor>> lists;
  for (const at::Tensor& tensor : tensors) lists.push_back({tensor});
  all_reduce(lists, op);
}

void all_reduce(const std::vector<std::vector<at::Tensor>>& tensors, ReduceOp op) {
  if (tensors.empty() || tensors.front().empty()) return;
  check_alike(tensors);
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor>& first = tensors.front();
  for (size_t d = 1; d < tensors.size(); ++d) {
    const std::vector<at::Tensor> moved = move_flat(tensors[d], first.front().device());
    if (op == ReduceOp::Min) {
      at::_foreach_minimum_(first, moved);
    } else if (op == ReduceOp::Max) {
      at::_foreach_maximum_(first, moved);
    } else {
      at::_foreach_add_(first, moved);
    }
  }
  if (op == ReduceOp::Mean) at::_foreach_div_(first, static_cast<double>(tensors.size()));
  for (size_t d = 1; d < tensors.size(); ++d) copy_flat(first, tensors[d]);
}

}  // namespace levin::parallel
