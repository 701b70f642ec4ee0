#include "tests/fuzz/live_memory.h"

#include <atomic>

using Hook = void (*)(const volatile void*, size_t);
using FreeHook = void (*)(const volatile void*);
// Of compiler-rt's sanitizer/allocator_interface.h; absent without a sanitizer.
extern "C" __attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(Hook on_malloc, FreeHook on_free);
extern "C" __attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void* pointer);

namespace levin::testing {
namespace {

std::atomic<long long> live = 0, peak = 0;

void count_malloc(const volatile void*, size_t bytes) {
  const long long now = live += static_cast<long long>(bytes);
  for (long long seen = peak; now > seen && !peak.compare_exchange_weak(seen, now);) {
  }
}

void count_free(const volatile void* pointer) {
  if (pointer) live -= static_cast<long long>(__sanitizer_get_allocated_size(pointer));
}

}  // namespace

LiveMemory::LiveMemory() {
  static const int kInstalled = __sanitizer_install_malloc_and_free_hooks
                                    ? __sanitizer_install_malloc_and_free_hooks(count_malloc, count_free)
                                    : 0;
  static_cast<void>(kInstalled);
  before_ = live;
  peak = before_;
}

size_t LiveMemory::most() const { return static_cast<size_t>(peak - before_); }

}  // namespace levin::testing
