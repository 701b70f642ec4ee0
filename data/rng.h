#pragma once
#include <ATen/core/PhiloxRNGEngine.h>
#include <levin/core/system/error.h>

#include <cmath>
#include <cstdint>
#include <numbers>

namespace levin::data {

/// Random numbers for one sample: they depend on (seed, epoch, index) alone, not on the thread that loads the sample.
///
/// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (Philox). Meets the standard library's generator
/// requirements.
class Rng {
 public:
  using result_type = uint32_t;

  /// Different `stream`s are independent: a dataset uses 0, its transforms use 1.
  Rng(uint64_t seed, int64_t epoch, int64_t index, uint64_t stream = 0)
      : engine_(seed ^ (stream << 63), static_cast<uint64_t>(index), static_cast<uint64_t>(epoch) << 32) {}

  /// 32 random bits.
  uint32_t operator()() { return engine_(); }
  static constexpr uint32_t min() { return 0; }
  static constexpr uint32_t max() { return ~uint32_t{0}; }

  /// Uniform in [low, high).
  double uniform(double low = 0, double high = 1) {
    return low + (high - low) * 0x1p-53 * static_cast<double>(bits53());
  }
  /// Normal distribution, by the Box-Muller method.
  double normal(double mean = 0, double stddev = 1) {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return mean + stddev * radius * std::cos(2 * std::numbers::pi * uniform());
  }
  /// Returns a uniform integer in [low, high); throws levin::Error if the range is empty.
  int64_t randint(int64_t low, int64_t high) {
    if (low >= high) throw Error("Rng::randint: no whole number in [", low, ", ", high, ")");
    const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const uint64_t rest = (0 - count) % count;  // 2^64 modulo count: the values below it are rejected
    uint64_t value = bits64();
    while (value < rest) value = bits64();
    return static_cast<int64_t>(static_cast<uint64_t>(low) + value % count);
  }

 private:
  uint64_t bits64() {
    const uint64_t high = engine_();
    return high << 32 | engine_();
  }
  uint64_t bits53() { return bits64() >> 11; }

  at::Philox4_32 engine_;
};

}  // namespace levin::data
