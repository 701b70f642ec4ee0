#include <levin/modules/parallel/replicas/move_flat.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/cat.h>

#include <map>

namespace levin::parallel {
namespace {

constexpr int64_t kTransferBytes = 256 << 20;

/// Moves the tensors with these indices, all of one dtype, in one transfer.
void move_together(const std::vector<at::Tensor>& tensors, const std::vector<size_t>& indices, c10::Device device,
                   std::vector<at::Tensor>& moved) {
  if (indices.size() == 1) {
    moved[indices[0]] = move_to(tensors[indices[0]], device);
    return;
  }
  std::vector<at::Tensor> flat;
  for (const size_t i : indices) flat.push_back(tensors[i].reshape(-1));
  const at::Tensor all = move_to(at::cat(flat), device);
  int64_t begin = 0;
  for (const size_t i : indices) {
    moved[i] = all.narrow(0, begin, tensors[i].numel()).view(tensors[i].sizes());
    begin += tensors[i].numel();
  }
}

}  // namespace

at::Tensor move_to(const at::Tensor& tensor, c10::Device device) {
  return tensor.to(device, /*non_blocking=*/!device.is_cpu());
}

std::vector<at::Tensor> move_flat(const std::vector<at::Tensor>& tensors, c10::Device device) {
  if (tensors.empty() || tensors.front().device() == device) return tensors;
  std::vector<at::Tensor> moved(tensors.size());
  struct Transfer {
    std::vector<size_t> indices;
    int64_t bytes = 0;
  };
  std::map<at::ScalarType, Transfer> transfers;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].layout() != at::kStrided) {
      moved[i] = move_to(tensors[i], device);
      continue;
    }
    Transfer& transfer = transfers[tensors[i].scalar_type()];
    transfer.indices.push_back(i);
    transfer.bytes += static_cast<int64_t>(tensors[i].nbytes());
    if (transfer.bytes < kTransferBytes) continue;
    move_together(tensors, transfer.indices, device, moved);
    transfer = {};
  }
  for (const auto& [dtype, transfer] : transfers)
    if (!transfer.indices.empty()) move_together(tensors, transfer.indices, device, moved);
  return moved;
}

void copy_flat(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& to) {
  if (!to.empty()) at::_foreach_copy_(to, move_flat(from, to.front().device()));
}

}  // namespace levin::parallel
