#pragma once
#include <levin/data/python/descriptor.h>
#include <levin/data/tables/owned_column.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace levin::data {

/// Memory that one process fills, and another one reads once nobody can change it any more.
class SealedMemory {
 public:
  /// Returns room for `bytes` bytes, all 0. Throws std::runtime_error if there is not enough memory.
  ColumnBuffer take(int64_t bytes);
  /// Makes the memory final and returns its descriptor, or -1 if nothing was taken; no buffer may be left.
  int seal();

 private:
  Descriptor file_ = {};
  int64_t bytes_ = 0;
};

/// Memory of another process.
struct MappedMemory {
  std::shared_ptr<std::byte[]> begin = {};
  int64_t bytes = 0;
};

/// Maps what `seal` has returned in another process. Throws std::runtime_error for memory that can still change.
MappedMemory map_sealed(const Descriptor& file);

}  // namespace levin::data
