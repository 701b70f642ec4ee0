#pragma once
#include <chrono>

namespace levin {

/// Returns the seconds since 1970, as TensorBoard's messages need them.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace levin
