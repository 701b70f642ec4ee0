#include <levin/data/copy_rows.h>
#include <ATen/Parallel.h>
#include <ATen/ops/index_select.h>
#include <levin/trainer/core/error.h>

#include <algorithm>
#include <cstring>

namespace levin::data {
namespace {

/// Threads share the work in parts of at least so many bytes.
constexpr int64_t kLeastBytesPerThread = 1 << 20;

void check(const Indices& indices, int64_t rows) {
  for (int64_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= rows) {
      throw Error("sample ", indices[i], " was asked for, but the dataset has ", rows,
                  "; the sampler is of other data");
    }
    if (indices.is_range()) i = std::max(i, indices.size() - 2);  // the last one
  }
}

bool lies_as_rows(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.layout() == at::kStrided && tensor.is_contiguous() && !tensor.is_quantized() &&
         !tensor.is_conj() && !tensor.is_neg();
}

}  // namespace

void copy_rows(const at::Tensor& from, const Indices& indices, at::Tensor& to) {
  check(indices, from.size(0));
  if (!lies_as_rows(from) || !lies_as_rows(to)) {
    to.copy_(indices.is_range() ? from.narrow(0, indices.start(), indices.size())
                                : from.index_select(0, indices.tensor().to(from.device())));
    return;
  }
  const auto row_bytes = static_cast<int64_t>(from.itemsize()) * (from.size(0) ? from.numel() / from.size(0) : 0);
  const auto* source = static_cast<const std::byte*>(from.const_data_ptr());
  auto* target = static_cast<std::byte*>(to.mutable_data_ptr());
  const auto copy = [&](int64_t begin, int64_t end) {
    if (indices.is_range()) {
      std::memcpy(target + begin * row_bytes, source + (indices.start() + begin) * row_bytes,
                  static_cast<size_t>((end - begin) * row_bytes));
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(target + i * row_bytes, source + indices[i] * row_bytes, static_cast<size_t>(row_bytes));
    }
  };
  const int64_t least_rows = std::max<int64_t>(1, kLeastBytesPerThread / std::max<int64_t>(1, row_bytes));
  if (indices.size() <= least_rows) {
    copy(0, indices.size());
  } else {
    at::parallel_for(0, indices.size(), least_rows, copy);
  }
}

}  // namespace levin::data
