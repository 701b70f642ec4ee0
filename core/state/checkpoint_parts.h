#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace levin {

/// The files of a sharded checkpoint. NAME.ckpt is its index, and beside it each rank has a part:
/// NAME.ckpt.rank-0-of-4.ID.part. The id is another one for each save, so that a save under a name that is taken leaves
/// the older parts as they are, and the checkpoint changes in the moment in which its index does. A checkpoint in one
/// file has no parts.
struct CheckpointPart {
  std::filesystem::path file = {};
  int64_t rank = 0, ranks = 1;
  std::string save = {};  ///< the id
};

/// Returns the file of a part.
std::filesystem::path part_file(const std::filesystem::path& index, const std::string& save, int64_t rank,
                                int64_t ranks);

/// Returns the parts that lie beside `index` under its name, of all saves, whether the index is there or not.
std::vector<CheckpointPart> parts_beside(const std::filesystem::path& index);

/// Removes the parts that lie beside `index` under its name, except those of the save `kept`.
void remove_parts(const std::filesystem::path& index, const std::string& kept = "");

/// Removes a checkpoint: the index, or the one file, first. What cannot be removed stays.
void remove_checkpoint(const std::filesystem::path& file);

/// Returns the bytes of a checkpoint with all of its parts; 0 if it cannot be read.
uintmax_t checkpoint_bytes(const std::filesystem::path& file);

/// Removes parts in `folder` that a killed process left: those that no index names. They stay while a process may still
/// write their index (its temporary file is there, see AtomicFile), and while they are links to parts of another name.
void remove_leftover_parts(const std::filesystem::path& folder);

/// Calls `remove_leftover_parts`, but only on this process's first call for that folder.
void remove_leftover_parts_once(const std::filesystem::path& folder);

}  // namespace levin
