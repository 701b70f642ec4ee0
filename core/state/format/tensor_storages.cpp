#include <levin/core/state/format/tensor_storages.h>

#include <ATen/ops/empty.h>

#include <algorithm>

namespace levin {

TensorStorages::Key TensorStorages::key_of(const at::Tensor& tensor) {
  return {tensor.storage().unsafeGetStorageImpl(), tensor.scalar_type()};
}

void TensorStorages::add(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().resolve_conj().resolve_neg();
  places_.push_back({plain, 0, plain.storage_offset()});
  if (plain.numel() == 0) return;
  int64_t end = plain.storage_offset() + 1;
  for (int64_t i = 0; i < plain.dim(); ++i) end += (plain.size(i) - 1) * plain.stride(i);
  Span& span = spans_[key_of(plain)];
  span.first = span.users == 0 ? plain.storage_offset() : std::min(span.first, plain.storage_offset());
  span.end = std::max(span.end, end);
  ++span.users;
}

void TensorStorages::plan() {
  for (Place& place : places_) {
    if (place.tensor.numel() == 0) {
      place = {place.tensor, add_storage(place.tensor.reshape({0})), 0};
      continue;
    }
    Span& span = spans_.at(key_of(place.tensor));
    const int64_t count = span.end - span.first;
    if (span.users == 1 && place.tensor.numel() < count) {
      const at::Tensor packed = place.tensor.contiguous();
      place = {packed, add_storage(packed.view({-1})), 0};
      continue;
    }
    if (!span.storage) {
      const at::Tensor& source = place.tensor;
      span.storage = add_storage(at::empty({0}, source.options()).set_(source.storage(), span.first, {count}, {1}));
    }
    place.storage = *span.storage;
    place.offset -= span.first;
  }
}

size_t TensorStorages::add_storage(at::Tensor flat) {
  storages_.push_back(std::move(flat));
  return storages_.size() - 1;
}

}  // namespace levin
