#include <levin/trainer/tuner/cpu_memory_limit.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <levin/trainer/core/error.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace levin {
namespace {

/// Counts what the allocator behind it gives. It is never destroyed: storages keep a pointer to their allocator.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    const auto bytes = static_cast<int64_t>(size);
    if (bytes == 0) return behind->allocate(0);
    auto block = std::make_unique<Block>(bytes);
    const int64_t now = in_use;
    TORCH_CHECK_WITH(OutOfMemoryError, now <= limit, "out of memory: tensors would take ", now,
                     " bytes of main memory, and the limit is ", limit.load());
    block->memory = behind->allocate(size);
    for (int64_t seen = peak; seen < now && !peak.compare_exchange_weak(seen, now);) {
    }
    void* const data = block->memory.get();
    return {data, block.release(), [](void* given) { delete static_cast<Block*>(given); },
            c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

  c10::Allocator* behind = nullptr;
  std::atomic<int64_t> limit = 0, peak = 0;
  static inline std::atomic<int64_t> in_use = 0;

 private:
  struct Block {
    explicit Block(int64_t size) : bytes(size) { in_use += bytes; }
    ~Block() { in_use -= bytes; }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    int64_t bytes;
    c10::DataPtr memory = {};
  };
};

CountingAllocator& counting_allocator() {
  static auto* const allocator = new CountingAllocator();
  return *allocator;
}

}  // namespace

CpuMemoryLimit::CpuMemoryLimit(int64_t bytes) {
  CountingAllocator& allocator = counting_allocator();
  c10::Allocator* const present = c10::GetCPUAllocator();
  if (present == &allocator) throw Error("CpuMemoryLimit: there is one already");
  allocator.behind = present;
  // What an earlier one left in use does not count against this one.
  base_ = CountingAllocator::in_use;
  allocator.limit = bytes > INT64_MAX - base_ ? INT64_MAX : base_ + bytes;
  allocator.peak = base_;
  c10::SetCPUAllocator(&allocator);
}

CpuMemoryLimit::~CpuMemoryLimit() {
  // Storages that live on grow by the allocator that made them.
  counting_allocator().limit = INT64_MAX;
  if (c10::GetCPUAllocator() == &counting_allocator()) c10::SetCPUAllocator(counting_allocator().behind);
}

int64_t CpuMemoryLimit::peak() const { return counting_allocator().peak - base_; }

}  // namespace levin
