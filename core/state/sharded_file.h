#pragma once
#include <levin/core/state/state.h>
#include <levin/core/state/state_file.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace levin {

/// What the index of a sharded checkpoint says of its parts (checkpoint_parts.h).
struct ShardedIndex {
  std::string save = {};  ///< the id of the save
  int64_t ranks = 0;      ///< how many parts there are
};

/// Returns the index of a new save, with an id of its own.
ShardedIndex new_sharded_index(int64_t ranks);
/// Adds that to the tree of an index.
void set_sharded_index(State& tree, const ShardedIndex& index);
/// Returns the contents of a part. `shards`: what it holds under the keys of marks (sharded_state.h).
State part_of_checkpoint(const ShardedIndex& index, int64_t rank, State shards);

/// Returns what a file says of its parts; nullopt if it is no index. Throws as load_state.
std::optional<ShardedIndex> read_sharded_index(const std::filesystem::path& file);

/// Replaces the marks in `state`, which was read from `index`, by what its parts hold; what has no marks stays as it
/// is. Throws levin::UsageError that names the part that is missing, damaged, or of another checkpoint.
void join_parts(State& state, const std::filesystem::path& index, const LoadStateOptions& options);

}  // namespace levin
