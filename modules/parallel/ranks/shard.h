#pragma once
#include <algorithm>
#include <cstdint>

namespace levin::parallel {

/// Which of some numbers, that are divided among ranks in their order, are a rank's own.
struct Shard {
  int64_t begin = 0, end = 0;
};

/// Numbers of each rank, of `size` in all. The last ranks may have fewer, or none.
inline int64_t shard_size(int64_t size, int64_t world_size) { return (size + world_size - 1) / world_size; }

inline Shard shard_of(int64_t size, int64_t rank, int64_t world_size) {
  const int64_t each = shard_size(size, world_size);
  return {.begin = std::min(size, rank * each), .end = std::min(size, (rank + 1) * each)};
}

}  // namespace levin::parallel
