#pragma once

#include <cstddef>

namespace levin {

/// While any instance lives, glibc's heap keeps freed memory for later allocations.
///
/// By default glibc returns large blocks to the system as soon as they are freed, so each training step has to map the
/// memory of its activations again, page by page: 1 to 20 % of a step's time, depending on what lies at the heap's end.
/// The peak memory use stays the same if the blocks of a step have the sizes of those of the step before; blocks that
/// live long, made between others that are freed soon, leave gaps. The last instance to be destroyed returns the free
/// memory. It is a no-op if the environment configures the heap (GLIBC_TUNABLES, MALLOC_*) and has no effect if another
/// allocator is preloaded.
/// Source: mallopt(3).
class HeapRetention {
 public:
  /// `largest`: blocks of this many bytes and more are returned at once. The smallest number of all that live counts.
  explicit HeapRetention(size_t largest = size_t{1} << 30);
  ~HeapRetention();
  HeapRetention(const HeapRetention&) = delete;
  HeapRetention& operator=(const HeapRetention&) = delete;
};

/// Returns memory of glibc's heap that nobody uses to the system, also while a HeapRetention lives.
void return_free_memory();

}  // namespace levin
