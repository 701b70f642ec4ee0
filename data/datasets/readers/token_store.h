#pragma once
#include <levin/data/datasets/readers/sample_encoder.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace levin::data {

/// The tokens of samples in memory, 4 bytes each and 8 for a sample.
class TokenStore {
 public:
  using Encode = std::function<std::vector<MarkedToken>(int64_t sample)>;

  /// Encodes samples 0 to count - 1 in LibTorch's threads. Throws what `encode` throws for the first sample that fails.
  TokenStore(int64_t count, const Encode& encode);

  int64_t size() const { return count_; }
  std::span<const MarkedToken> sample(int64_t index) const;

 private:
  /// Consecutive samples, encoded by one thread.
  struct Chunk {
    std::vector<MarkedToken> tokens = {};
    std::vector<int64_t> ends = {};
  };

  int64_t count_;
  std::vector<Chunk> chunks_ = {};
};

}  // namespace levin::data
