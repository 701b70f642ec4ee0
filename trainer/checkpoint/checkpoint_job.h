#pragma once
#include <levin/core/state/format/state_to_pickle.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace levin {

class ShardedSave;

/// What a CheckpointWriter does with a state.
struct CheckpointJob {
  std::filesystem::path path = {};
  std::filesystem::path link_as = {};                   ///< a second name for the checkpoint; empty: none
  std::vector<std::filesystem::path> then_remove = {};  ///< checkpoints to remove once the new one is complete
  std::string upload_to = {};                 ///< folder of a bucket that gets a copy of all of it; empty: none
  std::shared_ptr<ShardedSave> sharded = {};  ///< set if the state is this rank's part of a sharded checkpoint
};

/// Writes a checkpoint, or this rank's part of one, and then does the rest of the job. Throws levin::Error.
void write_checkpoint(const PickledState& state, const CheckpointJob& job);

}  // namespace levin
