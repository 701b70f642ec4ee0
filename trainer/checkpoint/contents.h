#pragma once
#include <levin/core/state/state.h>

#include <optional>
#include <utility>

namespace levin {

/// What a save writes.
struct CheckpointContents {
  CheckpointContents(State tree_of_all, std::optional<State> own = std::nullopt)
      : tree(std::move(tree_of_all)), shards(std::move(own)) {}

  State tree;  ///< on rank 0; with marks for what is sharded (sharded_state.h)
  /// What this rank writes to its part of a sharded checkpoint, by the keys of the marks; nullopt for one file.
  std::optional<State> shards;
};

}  // namespace levin
