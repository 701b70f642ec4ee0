#include <levin/core/system/heap.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string_view>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace levin {
namespace {

std::mutex mutex;
int living = 0;
size_t largest_kept = 0;  ///< the smallest `largest` of those that live

bool is_configured_by_environment() {
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_TOP_PAD_"})
    if (std::getenv(name)) return true;
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  return tunables && std::string_view(tunables).find("glibc.malloc.") != std::string_view::npos;
}

#ifdef __GLIBC__
void set_thresholds(int mmap_bytes, int trim_bytes) {
  ::mallopt(M_MMAP_THRESHOLD, mmap_bytes);
  ::mallopt(M_TRIM_THRESHOLD, trim_bytes);
}
/// glibc's thresholds cannot be read; its dynamic rule ends at these values in a program that frees large tensors.
void set_usual_thresholds() {
  set_thresholds(32 << 20, 64 << 20);
  ::malloc_trim(0);
}
void set_keeping_thresholds() {
  constexpr int kMost = std::numeric_limits<int>::max();
  set_thresholds(static_cast<int>(std::min<size_t>(largest_kept, kMost)), kMost);
}
#else
void set_usual_thresholds() {}
void set_keeping_thresholds() {}
#endif

}  // namespace

HeapRetention::HeapRetention(size_t largest) {
  const std::lock_guard lock(mutex);
  largest_kept = living++ == 0 ? largest : std::min(largest_kept, largest);
  if (!is_configured_by_environment()) set_keeping_thresholds();
}

HeapRetention::~HeapRetention() {
  const std::lock_guard lock(mutex);
  if (--living == 0 && !is_configured_by_environment()) set_usual_thresholds();
}

void return_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace levin
