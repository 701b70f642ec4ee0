#include <levin/modules/parallel/ranks/synchronize_module.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/ranks/module_shapes.h>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace levin::parallel {
namespace {

constexpr size_t kBroadcastBytes = size_t{250} << 20;

bool has_no_memory(const at::Tensor& tensor) { return tensor.numel() > 0 && tensor.storage().data() == nullptr; }

}  // namespace

void synchronize_module(torch::nn::Module& module, ProcessGroup& group) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> tensors = tensors_of(module);
  const auto own = static_cast<int64_t>(hash_of_shapes(module));
  const std::vector<at::Tensor> all = group.all_gather(at::full({1}, own, at::TensorOptions(at::kLong)));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank].item<int64_t>() != all[0].item<int64_t>())
      throw UsageError("ddp: ", difference_of_shapes(module, group),
                       "; do all ranks run the same program with the same config?");
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(), has_no_memory), tensors.end());
  broadcast_tensors(std::move(tensors), group, /*source=*/0);
}

void broadcast_buffers(torch::nn::Module& module, ProcessGroup& group, int64_t source) {
  std::vector<at::Tensor> buffers;
  for (const at::Tensor& buffer : module.buffers()) buffers.push_back(buffer.detach());
  broadcast_tensors(std::move(buffers), group, source);
}

void broadcast_tensors(std::vector<at::Tensor> tensors, ProcessGroup& group, int64_t source) {
  if (tensors.empty()) return;
  const at::NoGradGuard no_grad;
  group.guarded("broadcast",
                [&] { c10d::broadcast_coalesced(group.raw(), tensors, kBroadcastBytes, static_cast<int>(source)); });
}

}  // namespace levin::parallel
