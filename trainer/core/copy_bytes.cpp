#include <levin/trainer/core/copy_bytes.h>
#include <ATen/Parallel.h>

#include <cstdint>
#include <cstring>

namespace levin {

void copy_bytes(void* to, const void* from, size_t bytes) {
  constexpr int64_t kGrain = int64_t{1} << 20;
  at::parallel_for(0, static_cast<int64_t>(bytes), kGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<size_t>(end - begin));
  });
}

}  // namespace levin
