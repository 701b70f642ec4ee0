#pragma once

namespace levin {

/// While one of these lives, glibc's heap keeps what is freed for the allocations to come.
///
/// By default it hands large blocks back to the system as soon as they are freed, so that every training step asks for
/// its activations anew, page by page: 1 to 20 % of a step's time, by the luck of what lies at the heap's end. The peak
/// of memory stays the same. The last one to go hands back what is free. Nothing is done where the environment
/// configures the heap (GLIBC_TUNABLES, MALLOC_*), and without effect where another allocator is preloaded.
/// Source: mallopt(3).
class KeptHeap {
 public:
  KeptHeap();
  ~KeptHeap();
  KeptHeap(const KeptHeap&) = delete;
  KeptHeap& operator=(const KeptHeap&) = delete;
};

}  // namespace levin
