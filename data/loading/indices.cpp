#include <levin/data/loading/indices.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <algorithm>

namespace levin::data {

at::Tensor Indices::tensor() const {
  if (is_range_) return at::arange(start_, start_ + size_, at::TensorOptions(at::kLong));
  at::Tensor copy = at::empty({size_}, at::TensorOptions(at::kLong));
  std::ranges::copy(values_, copy.mutable_data_ptr<int64_t>());
  return copy;
}

void Indices::set_range(int64_t start, int64_t size) {
  is_range_ = true;
  start_ = start;
  size_ = size;
}

std::span<int64_t> Indices::resize(int64_t size) {
  is_range_ = false;
  size_ = size;
  values_.resize(static_cast<size_t>(size));
  return values_;
}

}  // namespace levin::data
