#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace levin::testing {

/// Returns a file with bytes changed, sizes set (runs of 0 or 255), a part put elsewhere, or its end cut off; what
/// happens depends on the seed and the copy's number alone.
inline std::string damaged(std::string bytes, uint64_t seed, int64_t copy) {
  constexpr uint64_t kCopies = 1000003;
  std::mt19937_64 random(seed * kCopies + static_cast<uint64_t>(copy));
  const auto below = [&](size_t count) { return static_cast<size_t>(random() % count); };
  const size_t changes = 1 + below(6);
  for (size_t i = 0; i < changes && !bytes.empty(); ++i) {
    const size_t at = below(2) ? below(bytes.size()) : bytes.size() - 1 - below(std::min<size_t>(bytes.size(), 600));
    const size_t run = std::min<size_t>(1 + below(8), bytes.size() - at);
    switch (below(8)) {
      case 0:
        bytes.replace(at, run, run, '\xff');
        break;
      case 1:
        bytes.replace(at, run, run, '\0');
        break;
      case 2:
        if (below(8) == 0) bytes.resize(at);
        break;
      case 3:
        bytes.replace(at, run, bytes.substr(below(bytes.size()), run));
        break;
      case 4:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      default:
        bytes[at] = static_cast<char>(random());
    }
  }
  return bytes;
}

}  // namespace levin::testing
