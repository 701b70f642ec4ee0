#pragma once
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace levin::parallel {

/// Returns a range of elements of a tensor without gaps, in memory order, as a 1-dimensional view.
inline at::Tensor elements(const at::Tensor& tensor, int64_t begin, int64_t size) {
  return tensor.as_strided({size}, {1}, tensor.storage_offset() + begin);
}

/// A block of parameters that lie behind each other, padded and divided among the ranks (Shard).
struct MemoryBlock {
  at::Tensor own = {};                      ///< this rank's shard, 1-dimensional, with its padding
  int64_t size = 0;                         ///< elements of the parameters, without padding
  std::vector<at::Tensor> parameters = {};  ///< in memory order
};

/// Elements of one parameter in this rank's shard of a block.
struct ShardPart {
  size_t block = 0, parameter = 0;  ///< the block, and the parameter's place in it
  int64_t begin = 0;                ///< the first, counted from the parameter's first element in memory
  int64_t in_shard = 0;             ///< the first, counted from the shard's
  int64_t size = 0;
};

/// Parameters in blocks that are divided among the ranks: what a ShardedOptimizer steps.
class ShardedMemory {
 public:
  virtual ~ShardedMemory() = default;

  virtual const std::vector<MemoryBlock>& blocks() const = 0;
  /// Returns the mean over all ranks of a part's gradient, 1-dimensional; undefined if there is none.
  virtual at::Tensor gradient(const ShardPart& part) const = 0;
  /// Throws levin::UsageError if a parameter was moved to other memory (`to`, `set_data`).
  virtual void check() const = 0;
  /// Called after this rank's shards have changed. Collective: all ranks call it.
  virtual void shards_changed() = 0;
};

}  // namespace levin::parallel
