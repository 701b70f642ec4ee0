#pragma once
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace levin {

/// Where a tensor begins: its storage and the offset in it. Tensors that begin at the same place share values, also
/// while the storage has no memory (strategy fsdp).
struct TensorPlace {
  explicit TensorPlace(const at::Tensor& tensor)
      : storage(tensor.storage().unsafeGetStorageImpl()), offset(tensor.storage_offset()) {}
  bool operator==(const TensorPlace&) const = default;

  const void* storage;
  int64_t offset;

  struct Hash {
    size_t operator()(const TensorPlace& place) const {
      return std::hash<const void*>()(place.storage) ^ (static_cast<size_t>(place.offset) * 31);
    }
  };
};

}  // namespace levin
