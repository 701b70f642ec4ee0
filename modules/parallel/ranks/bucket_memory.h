#pragma once
#include <levin/modules/parallel/ranks/gradient_reducer.h>
#include <levin/modules/parallel/ranks/sharded_memory.h>

#include <vector>

namespace levin::parallel {

/// The parameters of a reducer's buckets, those of a bucket in one block of memory. All ranks hold the whole parameters
/// and the gradients of their own shards.
class BucketMemory final : public ShardedMemory {
 public:
  /// Moves the parameters of each bucket into one block. `reducer` must outlive the object. Throws levin::UsageError
  /// for parameters with gaps, or whose elements share memory.
  explicit BucketMemory(const GradientReducer& reducer);

  /// Adds the reducer's new buckets.
  void follow();
  /// Begins again, with the buckets that the reducer has loaded.
  void begin_again();

  const std::vector<MemoryBlock>& blocks() const override { return blocks_; }
  at::Tensor gradient(const ShardPart& part) const override;
  void check() const override;
  void shards_changed() override;

 private:
  void flatten(const std::vector<at::Tensor>& bucket);

  const GradientReducer& reducer_;
  std::vector<MemoryBlock> blocks_ = {};
  std::vector<at::Tensor> whole_ = {};  ///< of each block, with its padding
};

}  // namespace levin::parallel
