#pragma once
#include <c10/core/Allocator.h>
#include <levin/core/ranks/memory/shared_block.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace levin {

/// Where bytes lie in the mappable memory of a process. Ranks send it to each other as it is.
struct MemoryPlace {
  int64_t process = 0, descriptor = 0;  ///< of the block
  int64_t block_bytes = 0;              ///< 0: the bytes are in other memory
  int64_t offset = 0;                   ///< in the block
  std::array<char, 32> id = {};         ///< of the block
};

/// Returns memory that other processes of the same user on this machine can map (SharedBlock), filled with zeros.
/// Throws levin::Error if the system has none.
c10::DataPtr mappable_memory(size_t bytes);
/// Returns where bytes of this process lie.
MemoryPlace place_of(const void* data, size_t bytes);

/// What a rank has mapped of the memory of other ranks. Not for several threads at a time.
class PeerMemory {
 public:
  struct Bytes {
    std::shared_ptr<const SharedBlock> block;  ///< they are mapped as long as it lives
    std::byte* data = nullptr;
  };
  /// Maps the block unless it is mapped. Throws levin::Error if it cannot be reached.
  Bytes map(const MemoryPlace& place, size_t bytes);

 private:
  std::vector<std::shared_ptr<const SharedBlock>> blocks_ = {};
};

}  // namespace levin
