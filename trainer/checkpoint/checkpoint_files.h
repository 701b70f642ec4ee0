#pragma once
#include <levin/trainer/core/state.h>

#include <filesystem>
#include <optional>

namespace levin {

/// A checkpoint that was read.
struct ReadCheckpoint {
  std::filesystem::path file = {};
  State state = {};
};

/// The newest whole checkpoint below `folder` that a run can go on from; nothing where there is none. One that is
/// damaged is passed over with a warning.
std::optional<ReadCheckpoint> newest_checkpoint(const std::filesystem::path& folder);

/// The file that the checkpoint's ModelCheckpoint holds for the best. Throws levin::UsageError where none had a
/// monitor, or its file is gone.
std::filesystem::path best_model_path(const ReadCheckpoint& newest);

/// The run's folder (version_<n> in `runs`) that `file` lies in; empty where it lies elsewhere.
std::filesystem::path run_folder_of(const std::filesystem::path& file, const std::filesystem::path& runs);

/// Whether the run of this folder came to its end, be it early.
bool ended_in_order(const std::filesystem::path& run_folder);

}  // namespace levin
