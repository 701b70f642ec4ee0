#include <levin/data/loading/copy_rows.h>
#include <ATen/Parallel.h>
#include <ATen/ops/index_select.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cstring>

namespace levin::data {
namespace {

/// From this many bytes on, LibTorch's copies are faster, since they use several threads.
constexpr int64_t kLeastBytesToShare = 1 << 16;
/// The bytes of the next row to prefetch while this row is copied: copying random rows is bound by memory latency.
constexpr int64_t kBytesAhead = 4096;
constexpr int64_t kCacheLine = 64;

void fetch_ahead(const std::byte* row, int64_t bytes) {
  for (int64_t i = 0; i < std::min(bytes, kBytesAhead); i += kCacheLine) __builtin_prefetch(row + i);
}

void check(const Indices& indices, int64_t rows) {
  for (int64_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= rows) {
      throw Error("sample ", indices[i], " was asked for, but the dataset has ", rows,
                  "; the sampler is of other data");
    }
    if (indices.is_range()) i = std::max(i, indices.size() - 2);  // skips to the last index
  }
}

bool lies_as_rows(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.layout() == at::kStrided && tensor.is_contiguous() && !tensor.is_quantized() &&
         !tensor.is_conj() && !tensor.is_neg();
}

}  // namespace

void copy_rows(const at::Tensor& from, const Indices& indices, at::Tensor& to) {
  check(indices, from.size(0));
  const auto row_bytes = static_cast<int64_t>(from.itemsize()) * (from.size(0) ? from.numel() / from.size(0) : 0);
  const bool shared = at::get_num_threads() > 1 && indices.size() * row_bytes >= kLeastBytesToShare;
  if (shared || !lies_as_rows(from) || !lies_as_rows(to)) {
    if (indices.is_range()) {
      to.copy_(from.narrow(0, indices.start(), indices.size()));
    } else {
      at::index_select_out(to, from, 0, indices.tensor().to(from.device()));
    }
    return;
  }
  const auto* source = static_cast<const std::byte*>(from.const_data_ptr());
  auto* target = static_cast<std::byte*>(to.mutable_data_ptr());
  if (indices.is_range()) {
    std::memcpy(target, source + indices.start() * row_bytes, static_cast<size_t>(indices.size() * row_bytes));
    return;
  }
  for (int64_t i = 0; i < indices.size(); ++i) {
    if (i + 1 < indices.size()) fetch_ahead(source + indices[i + 1] * row_bytes, row_bytes);
    std::memcpy(target + i * row_bytes, source + indices[i] * row_bytes, static_cast<size_t>(row_bytes));
  }
}

}  // namespace levin::data
