#pragma once
#include <cstdint>
#include <string>

namespace levin {

/// Returns "3 images", or "1 image" for a count of 1.
inline std::string counted(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace levin
