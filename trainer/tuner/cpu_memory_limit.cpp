#include <levin/trainer/tuner/cpu_memory_limit.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <unordered_map>

namespace levin {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

/// Counts the memory of the wrapped allocator. Addresses are unchanged, so either allocator can free them. The object
/// is never destroyed, because storages keep a pointer to their allocator.
class CountingAllocator final : public c10::Allocator {
 public:
  static CountingAllocator& instance() {
    static auto* const allocator = new CountingAllocator();
    return *allocator;
  }

  c10::DataPtr allocate(size_t size) override {
    const std::lock_guard lock(mutex_);
    const auto bytes = static_cast<int64_t>(size);
    if (bytes == 0) return behind_->allocate(0);
    const int64_t taken = in_use_ - base_ + bytes;
    TORCH_CHECK_WITH(OutOfMemoryError, taken <= limit_, "out of memory: tensors would take ", taken,
                     " bytes of main memory, and the limit is ", limit_);
    void* const data = behind_->allocate(size).release_context();
    Block& block = blocks_[data];
    // An entry here belongs to memory that was freed without this allocator's knowledge.
    in_use_ += bytes - block.bytes;
    block = {bytes, behind_->raw_deleter()};
    peak_ = std::max(peak_, in_use_ - base_);
    return {data, data, &free_block, c10::Device(c10::DeviceType::CPU)};
  }
  /// LibTorch's kernels also allocate without a DataPtr, which requires a deleter that takes only the memory.
  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

  /// Starts counting; memory already in use does not count.
  void begin(c10::Allocator* behind, int64_t limit) {
    const std::lock_guard lock(mutex_);
    behind_ = behind;
    base_ = in_use_;
    peak_ = 0;
    limit_ = limit;
  }
  /// Lifts the limit. Storages that outlive it are still resized by this allocator.
  void end() {
    const std::lock_guard lock(mutex_);
    limit_ = kNoLimit;
    peak_ = 0;
  }
  int64_t peak() const {
    const std::lock_guard lock(mutex_);
    return peak_;
  }
  c10::Allocator* behind() const { return behind_; }

 private:
  struct Block {
    int64_t bytes = 0;
    c10::DeleterFnPtr free = nullptr;
  };

  static void free_block(void* data) {
    if (data == nullptr) return;
    CountingAllocator& self = instance();
    c10::DeleterFnPtr free = nullptr;
    {
      const std::lock_guard lock(self.mutex_);
      free = self.behind_->raw_deleter();
      if (const auto found = self.blocks_.find(data); found != self.blocks_.end()) {
        self.in_use_ -= found->second.bytes;
        free = found->second.free;
        self.blocks_.erase(found);
      }
    }
    free(data);
  }

  mutable std::mutex mutex_;
  c10::Allocator* behind_ = nullptr;
  std::unordered_map<void*, Block> blocks_ = {};
  int64_t in_use_ = 0, base_ = 0, peak_ = 0, limit_ = kNoLimit;
};

}  // namespace

CpuMemoryLimit::CpuMemoryLimit(int64_t bytes) {
  CountingAllocator& allocator = CountingAllocator::instance();
  c10::Allocator* const present = c10::GetCPUAllocator();
  if (present == &allocator) throw Error("CpuMemoryLimit: there is one already");
  if (present->raw_deleter() == nullptr) return;
  allocator.begin(present, bytes);
  c10::SetCPUAllocator(&allocator);
}

CpuMemoryLimit::~CpuMemoryLimit() {
  CountingAllocator& allocator = CountingAllocator::instance();
  allocator.end();
  if (c10::GetCPUAllocator() == &allocator) c10::SetCPUAllocator(allocator.behind());
}

int64_t CpuMemoryLimit::peak() const { return CountingAllocator::instance().peak(); }

}  // namespace levin
