#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace levin::data {

/// A random order of 0 ... size - 1 that is computed index by index and takes no memory: a Feistel network over a power
/// of two, iterated until the result is below `size` (cycle walking). Source: Mitchell et al., "Bandwidth-Optimal
/// Random Shuffling for GPUs" (2022).
class Permutation {
 public:
  Permutation(int64_t size, uint64_t seed);

  int64_t size() const { return size_; }
  /// Returns the number at `position`, which must be in [0, size).
  int64_t operator[](int64_t position) const;

 private:
  static constexpr int kRounds = 8;

  int64_t size_;
  int left_bits_, right_bits_;
  std::array<uint64_t, kRounds> keys_;
};

}  // namespace levin::data
