#pragma once
#include <chrono>
#include <cstdint>

namespace levin {

/// Returns the time of std::chrono::steady_clock in nanoseconds, the clock of ProfileSpan.
inline int64_t steady_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace levin
