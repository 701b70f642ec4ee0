#pragma once
#include <cstdint>

namespace levin {

/// While the object exists, CPU tensors created by any thread may take `bytes` in total. An operation that needs more
/// throws c10::OutOfMemoryError before memory is touched, so that the machine does not swap.
///
/// It replaces LibTorch's CPU allocator by one that counts and forwards. Only one may exist at a time; tensors may
/// outlive it. It has no effect if the program has set an allocator with higher priority or without raw_deleter.
class CpuMemoryLimit {
 public:
  explicit CpuMemoryLimit(int64_t bytes);
  ~CpuMemoryLimit();
  CpuMemoryLimit(const CpuMemoryLimit&) = delete;
  CpuMemoryLimit& operator=(const CpuMemoryLimit&) = delete;

  /// Peak memory, in bytes, of the tensors created since the constructor.
  int64_t peak() const;
};

}  // namespace levin
