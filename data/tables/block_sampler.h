#pragma once
#include <levin/data/sampler.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace levin::data {

/// A random order of samples that lie in blocks, of which few are read at a time.
///
/// Each epoch shuffles the blocks and deals them to `lanes`; each lane shuffles the samples of `group` blocks at a
/// time. The lanes take turns, a batch each, and what is too little for a batch comes at the end. So if the number of
/// ranks divides that of lanes, each block is read by one rank but for the end; and the order is the same for any
/// number of ranks.
class BlockSampler final : public Sampler {
 public:
  /// `sizes` has the number of samples of each block.
  BlockSampler(std::vector<int64_t> sizes, int64_t batch_size, int64_t lanes, int64_t group);
  int64_t size() const override { return begins_.back(); }
  std::shared_ptr<const SampleOrder> order(uint64_t seed, int64_t epoch) const override;

 private:
  std::vector<int64_t> begins_ = {0};  ///< of each block's samples, and the end
  int64_t batch_size_, lanes_, group_;
};

/// How many lanes, and blocks of a group, fit into memory: 24 lanes of two blocks, or as many as there is room for.
struct BlockLanes {
  int64_t lanes = 1, group = 1;
};
BlockLanes lanes_for(int64_t blocks, int64_t largest_block, int64_t most_bytes);

}  // namespace levin::data
