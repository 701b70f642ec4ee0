#pragma once
#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace levin {

/// Counts the memory that LibTorch takes for tensors while it lives, in the calling thread and in those that work for
/// it (backward). One at a time in a thread, and none together with LibTorch's profiler.
class MemoryTracker {
 public:
  /// Bytes by device ("cpu", "cuda:0").
  using Bytes = std::map<std::string, int64_t>;

  MemoryTracker();
  ~MemoryTracker();
  MemoryTracker(const MemoryTracker&) = delete;
  MemoryTracker& operator=(const MemoryTracker&) = delete;

  /// Taken since the tracker was made, less what was given back.
  Bytes live() const;
  /// The most that was live at a time.
  Bytes peak() const;

 private:
  struct Reporter;
  struct Scope;
  std::shared_ptr<Reporter> reporter_;
  std::unique_ptr<Scope> scope_;
};

}  // namespace levin
