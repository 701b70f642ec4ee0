#pragma once
#include <cstdint>

namespace levin {

/// While it lives, the CPU tensors that are made, by any thread, may take so many bytes together: an operation that
/// needs more throws c10::OutOfMemoryError before memory is touched, so that the machine does not swap.
///
/// It stands before LibTorch's CPU allocator. One at a time; tensors may outlive it. Without effect where the program
/// has set an allocator of higher priority, or one without raw_deleter.
class CpuMemoryLimit {
 public:
  explicit CpuMemoryLimit(int64_t bytes);
  ~CpuMemoryLimit();
  CpuMemoryLimit(const CpuMemoryLimit&) = delete;
  CpuMemoryLimit& operator=(const CpuMemoryLimit&) = delete;

  /// The most that the tensors made since took at one time, in bytes.
  int64_t peak() const;
};

}  // namespace levin
