#pragma once
#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace levin {

/// A counter of the memory that LibTorch allocates for tensors while the tracker lives, in the calling thread and in
/// the threads that work for it (backward). Only one can be active per thread, and not together with LibTorch's
/// profiler.
class MemoryTracker {
 public:
  /// Bytes by device ("cpu", "cuda:0").
  using Bytes = std::map<std::string, int64_t>;

  MemoryTracker();
  ~MemoryTracker();
  MemoryTracker(const MemoryTracker&) = delete;
  MemoryTracker& operator=(const MemoryTracker&) = delete;

  /// Bytes allocated since the tracker was made and not freed yet.
  Bytes live() const;
  /// Returns the largest number of bytes live at one time.
  Bytes peak() const;

 private:
  struct Reporter;
  struct Scope;
  std::shared_ptr<Reporter> reporter_;
  std::unique_ptr<Scope> scope_;
};

}  // namespace levin
