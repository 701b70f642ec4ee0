#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/state/state.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace levin {

/// A tensor in slices, in the order of its elements in memory; together they are all of it.
struct ShardedTensor {
  std::vector<int64_t> sizes = {}, strides = {};  ///< without gaps
  std::vector<at::Tensor> slices = {};            ///< 1-dimensional, none empty
};

/// Makes the whole tensor.
using JoinTensor = std::function<at::Tensor(const ShardedTensor&)>;

/// Copies the slices to memory of its own; a tensor in one slice shares that one's.
at::Tensor joined_tensor(const ShardedTensor& sharded);
/// Returns a CPU tensor that has the shape and dtype and no memory, for those who look at these alone.
at::Tensor tensor_without_memory(const ShardedTensor& sharded);

/// Returns what stands in a tree for a value that is sharded among parts. Marks may be copied and moved in the tree.
State shard_mark(const std::string& key);
/// Returns whether the tree has a mark, in its dicts and lists.
bool has_shard_marks(const State& state);

/// Returns a slice for a part: the elements from `begin` on of a tensor with these sizes and strides.
State tensor_slice(const at::Tensor& whole, int64_t begin, const at::Tensor& values);

/// Replaces the marks in `tree` by what the parts hold under their keys. `parts`: a dict by key from each part. Slices
/// become a tensor, dicts are joined key by key (numbers in ascending order), and of other values the first counts. Two
/// marks of one key share the value. Throws levin::UsageError if a key or elements of a tensor are in no part.
void join_shards(State& tree, const std::vector<State>& parts, const JoinTensor& join);

}  // namespace levin
