#pragma once
#include <chrono>

namespace levin {

/// The time of day in seconds since 1970, as TensorBoard's messages hold it.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace levin
