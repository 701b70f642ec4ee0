#pragma once
#include <levin/modules/parallel/ranks/sharded_memory.h>
#include <levin/modules/parallel/sharding/watched_memory.h>

#include <cstddef>
#include <string>
#include <vector>

namespace levin::parallel {

/// Returns the bytes that a block takes in a buffer: blocks begin at whole cache lines, as LibTorch's own memory does.
inline size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Parameters of one dtype and one `requires_grad` in one block, of which this rank keeps its shard. The parameters are
/// views of memory that holds the whole block while it is filled, and is empty otherwise.
class ShardedBlock {
 public:
  /// Takes this rank's shard of the parameters' values and gives their memory back. Throws levin::UsageError for a
  /// parameter with gaps or elements that share memory. `owner` must outlive the block.
  ShardedBlock(std::vector<std::string> names, const std::vector<at::Tensor>& parameters, WatchedMemory& owner,
               int64_t rank, int64_t world_size);
  /// Unless `keep_whole` was called, the parameters have no memory afterwards.
  ~ShardedBlock();
  ShardedBlock(const ShardedBlock&) = delete;
  ShardedBlock& operator=(const ShardedBlock&) = delete;

  const MemoryBlock& memory() const { return memory_; }
  MemoryBlock& memory() { return memory_; }
  const std::vector<std::string>& names() const { return names_; }
  /// Returns the bytes of the whole block, with its padding.
  size_t bytes() const { return whole_.nbytes(); }
  bool is_trained() const { return memory_.parameters.front().requires_grad(); }
  /// The whole block, 1-dimensional, while it is filled.
  at::Tensor& whole() { return whole_; }
  /// Returns whether a tensor lies in the block.
  bool holds(const at::Tensor& tensor) const { return tensor.storage().is_alias_of(storage_); }
  /// Returns this rank's elements of a parameter of the block.
  OwnPart own_part(const at::Tensor& parameter) const;
  /// Returns this rank's shard of a tensor of the size of the whole block.
  at::Tensor shard_of_rank(const at::Tensor& whole) const;

  /// Puts the whole block at `data`; null: nowhere.
  void set_data(void* data);
  /// Gives the block memory of its own for good.
  void keep_whole();
  /// Throws levin::UsageError if a parameter is no longer in this block.
  void check() const;

 private:
  MemoryBlock memory_ = {};
  std::vector<std::string> names_;
  WatchedMemory& owner_;
  int64_t rank_;
  at::Storage storage_ = {};
  bool is_kept_ = false;
  at::Tensor whole_ = {};
};

}  // namespace levin::parallel
