#pragma once
#include <levin/trainer/checkpoint/run_lock.h>
#include <levin/trainer/core/comm.h>
#include <levin/trainer/core/state.h>

#include <filesystem>
#include <optional>
#include <string>

namespace levin {

/// A checkpoint that was read.
struct ReadCheckpoint {
  std::filesystem::path file = {};
  State state = {};
};

/// What a checkpoint is wanted for.
enum class CheckpointUse { Resume, Weights };

/// The newest whole checkpoint of `folder`, which is the folder of a run, of several runs or of checkpoints, and of the
/// other folders to which such runs have saved; nothing where there is none. One that is damaged is passed over with a
/// warning, and so is a folder that cannot be read.
std::optional<ReadCheckpoint> newest_checkpoint(const std::filesystem::path& folder,
                                                CheckpointUse use = CheckpointUse::Resume);

/// The file that the checkpoint's ModelCheckpoint holds for the best. Throws levin::UsageError where none had a
/// monitor, or its file is gone.
std::filesystem::path best_model_path(const ReadCheckpoint& newest);

/// The folder of the run that wrote the checkpoint `file`: the one that it lies in, or the one in `runs` (that has the
/// runs' folders) with its run's id. Empty where there is none.
std::filesystem::path run_folder_of(const ReadCheckpoint& checkpoint, const std::filesystem::path& runs);

/// Whether the run of this folder came to its end, be it early.
bool ended_in_order(const std::filesystem::path& run_folder);

/// Which checkpoint a call of the trainer asks for.
struct CheckpointRequest {
  std::filesystem::path runs = {};  ///< <default_root_dir>/<name>
  /// A file; a folder: its newest; "last": the newest of `runs`; "best": what that one holds for the best; empty: none
  std::string ckpt_path = {};
  /// Of a fit that was restarted: which. What it has saved itself comes before `ckpt_path`, and no other run's does.
  std::string restarted = {};
  CheckpointUse use = CheckpointUse::Resume;
};

/// A checkpoint that was found, and where a fit goes on.
struct FoundCheckpoint {
  ReadCheckpoint checkpoint = {};
  std::filesystem::path run_folder = {};  ///< of the run that wrote it; empty: unknown
  bool continues_in_folder = false;       ///< the fit goes on in run_folder
  bool is_own = false;                    ///< the fit's own, from before its restart
  RunLock lock = {};                      ///< of run_folder, where the fit goes on there
};

/// Nothing where no checkpoint is asked for, and for "last" where there is none. Throws levin::UsageError where another
/// file is missing or damaged, and where the fit would go on in the folder of a run that another process writes.
std::optional<FoundCheckpoint> find_checkpoint(const CheckpointRequest& request);
/// The same on several ranks: rank 0 looks, since another rank may see files that come and go, and all read what it has
/// found; the lock is rank 0's. Called by all ranks together.
std::optional<FoundCheckpoint> find_checkpoint(const CheckpointRequest& request, Comm& comm);

}  // namespace levin
