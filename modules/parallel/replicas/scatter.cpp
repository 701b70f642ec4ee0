#include <levin/modules/parallel/replicas/scatter.h>
#include <ATen/ops/unsafe_split_with_sizes.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/replicas/move_flat.h>
#include <levin/modules/parallel/replicas/replica_devices.h>

#include <algorithm>

namespace levin::parallel {

std::vector<int64_t> chunk_sizes(int64_t rows, size_t parts) {
  if (rows < 1 || parts < 1) throw Error("a batch of ", rows, " samples cannot be split over ", parts, " devices");
  const auto count = static_cast<int64_t>(parts);
  const int64_t length = (rows + count - 1) / count;
  std::vector<int64_t> sizes;
  for (int64_t begin = 0; begin < rows; begin += length) sizes.push_back(std::min(length, rows - begin));
  return sizes;
}

void RowCount::add_tensor(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.dim() == 0) return;
  if (dim_ < 0 || tensor.dim() <= dim_)
    throw Error("a tensor of the shape ", tensor.sizes(), " cannot be split along dim ", dim_);
  add_rows(tensor.size(dim_));
}

void RowCount::add_batch(const Batch& batch) {
  if (dim_ != 0) throw Error("a Batch is split along dim 0, and dim ", dim_, " was asked for; pass its tensors");
  if (!batch.empty()) add_rows(batch.size());
}

void RowCount::add_rows(int64_t rows) {
  if (rows_ >= 0 && rows != rows_)
    throw Error("the batch cannot be split: one value has ", rows_, " rows along dim ", dim_, ", another ", rows);
  rows_ = rows;
}

Chunks RowCount::chunks(const std::vector<c10::Device>& devices) const {
  if (rows_ < 0) throw Error("there is nothing to split: pass a tensor of 1 dimension or more, or a Batch");
  Chunks chunks{chunk_sizes(rows_, devices.size()), checked_devices(devices, "scatter"), dim_};
  chunks.devices.resize(chunks.sizes.size(), c10::kCPU);
  return chunks;
}

std::vector<at::Tensor> split_tensor(const at::Tensor& tensor, const Chunks& chunks) {
  const size_t count = chunks.sizes.size();
  std::vector<at::Tensor> parts(count, tensor);
  if (!tensor.defined()) return parts;
  // Not registered as views with autograd, since each replica may change its part in place on its own thread.
  if (tensor.dim() > 0 && count > 1) parts = at::unsafe_split_with_sizes(tensor, chunks.sizes, chunks.dim);
  for (size_t i = 0; i < count; ++i) parts[i] = move_to(parts[i], chunks.devices[i]);
  return parts;
}

std::vector<Batch> split_batch(const Batch& batch, const Chunks& chunks) {
  std::vector<Batch> parts;
  int64_t begin = 0;
  for (size_t i = 0; i < chunks.sizes.size(); ++i) {
    const Batch part = chunks.sizes.size() > 1 && !batch.empty() ? batch.narrow(begin, chunks.sizes[i]) : batch;
    parts.push_back(part.to(chunks.devices[i], /*non_blocking=*/!chunks.devices[i].is_cpu()));
    begin += chunks.sizes[i];
  }
  return parts;
}

}  // namespace levin::parallel
