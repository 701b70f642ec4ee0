#include <levin/data/loading/permutation.h>

#include <bit>

namespace levin::data {
namespace {

/// Steele, Lea and Flood's finalizer (SplitMix64).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

Permutation::Permutation(int64_t size, uint64_t seed) : size_(size) {
  const int bits = size > 2 ? std::bit_width(static_cast<uint64_t>(size - 1)) : 2;
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
  for (uint64_t& key : keys_) key = mix(seed += 0x9e3779b97f4a7c15);
}

int64_t Permutation::operator[](int64_t position) const {
  const uint64_t left_mask = (uint64_t{1} << left_bits_) - 1, right_mask = (uint64_t{1} << right_bits_) - 1;
  uint64_t value = static_cast<uint64_t>(position);
  do {
    uint64_t left = value >> right_bits_, right = value & right_mask;
    for (int round = 0; round < kRounds; round += 2) {
      left ^= mix(right + keys_[static_cast<std::size_t>(round)]) & left_mask;
      right ^= mix(left + keys_[static_cast<std::size_t>(round) + 1]) & right_mask;
    }
    value = left << right_bits_ | right;
  } while (value >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(value);
}

}  // namespace levin::data
