#include <levin/core/device/memory_tracker.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <mutex>

namespace levin {

/// LibTorch's allocators report to it through the profiler's hook.
struct MemoryTracker::Reporter : c10::MemoryReportingInfoBase {
  void reportMemoryUsage(void* /*memory*/, int64_t bytes, size_t /*allocated*/, size_t /*reserved*/,
                         c10::Device device) override {
    const std::lock_guard lock(mutex);
    const std::string name = device.str();
    int64_t& now = live[name];
    now += bytes;
    peak[name] = std::max(peak[name], now);
  }
  bool memoryProfilingEnabled() const override { return true; }

  mutable std::mutex mutex;
  Bytes live, peak;
};

struct MemoryTracker::Scope {
  explicit Scope(std::shared_ptr<Reporter> reporter) : guard(c10::DebugInfoKind::PROFILER_STATE, std::move(reporter)) {}
  c10::DebugInfoGuard guard;
};

MemoryTracker::MemoryTracker() : reporter_(std::make_shared<Reporter>()), scope_(std::make_unique<Scope>(reporter_)) {}

MemoryTracker::~MemoryTracker() = default;

MemoryTracker::Bytes MemoryTracker::live() const {
  const std::lock_guard lock(reporter_->mutex);
  return reporter_->live;
}

MemoryTracker::Bytes MemoryTracker::peak() const {
  const std::lock_guard lock(reporter_->mutex);
  return reporter_->peak;
}

}  // namespace levin
