#pragma once
#include <algorithm>
#include <cstdint>

namespace levin::parallel {

/// The range of elements that belongs to one rank, of a sequence divided among the ranks in order.
struct Shard {
  int64_t begin = 0, end = 0;
};

/// Returns the number of elements per rank, of `size` in total. The last ranks may have fewer, or none.
inline int64_t shard_size(int64_t size, int64_t world_size) { return (size + world_size - 1) / world_size; }

inline Shard shard_of(int64_t size, int64_t rank, int64_t world_size) {
  const int64_t each = shard_size(size, world_size);
  return {.begin = std::min(size, rank * each), .end = std::min(size, (rank + 1) * each)};
}

}  // namespace levin::parallel
