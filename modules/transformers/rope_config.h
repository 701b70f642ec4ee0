#pragma once
#include <cstdint>
#include <vector>

namespace levin::nn {

/// How the frequencies of rotary positions follow from the length of the sequence.
enum class RopeScaling : uint8_t { Default, Linear, Dynamic, Yarn, LongRope, Llama3 };

/// Rotary position embeddings. Source: Su et al. 2021, "RoFormer".
struct RopeConfig {
  RopeScaling scaling = RopeScaling::Default;
  double theta = 10000;
  int64_t dims = 0;  ///< the first numbers of a head that are rotated; even
  double factor = 1;
  int64_t max_positions = 0, original_positions = 0;
  double low_freq_factor = 1, high_freq_factor = 4;           ///< Llama3
  double beta_fast = 32, beta_slow = 1;                       ///< Yarn
  bool truncate = true;                                       ///< Yarn
  double attention_factor = 1;                                ///< multiplies sines and cosines
  std::vector<double> short_factors = {}, long_factors = {};  ///< LongRope: one for each pair of dims
};

}  // namespace levin::nn
