#pragma once
#include <levin/core/ranks/comm.h>
#include <levin/core/state/sharded_state.h>
#include <levin/core/state/state.h>
#include <levin/trainer/run_folder/run_lock.h>

#include <filesystem>
#include <optional>
#include <string>

namespace levin {

/// A checkpoint with its file.
struct ReadCheckpoint {
  std::filesystem::path file = {};
  State state = {};
};

/// The purpose for which a checkpoint is read.
enum class CheckpointUse { Resume, Weights };

/// Returns the newest intact checkpoint below `folder` (a folder of one run, of several runs or of checkpoints) and in
/// the other folders to which these runs have saved; nullopt if there is none. Damaged files and unreadable folders are
/// skipped with a warning; if only files are left that the system does not read now, it throws levin::UsageError.
/// `join`: how divided tensors become whole (LoadStateOptions).
std::optional<ReadCheckpoint> newest_checkpoint(const std::filesystem::path& folder,
                                                CheckpointUse use = CheckpointUse::Resume, const JoinTensor& join = {});

/// Returns the best checkpoint according to the ModelCheckpoint whose state `newest` holds. Throws levin::UsageError if
/// no ModelCheckpoint has a monitor, or if the file is gone.
std::filesystem::path best_model_path(const ReadCheckpoint& newest);

/// Returns the folder of the run that wrote the checkpoint: the run folder that contains the file, or the one in `runs`
/// with the checkpoint's run id. Empty if there is none.
std::filesystem::path run_folder_of(const ReadCheckpoint& checkpoint, const std::filesystem::path& runs);

/// Returns whether the run in this folder finished, including by an early stop.
bool ended_in_order(const std::filesystem::path& run_folder);

/// Returns the global step of a checkpoint that holds a request to stop; nullopt for others.
std::optional<int64_t> step_of_stop_request(const State& checkpoint);

/// The checkpoint that a call of the trainer asks for.
struct FindRequest {
  std::filesystem::path runs = {};  ///< <default_root_dir>/<name>
  /// A file; a folder: its newest; "last": the newest of `runs`; "best": the best according to that one; empty: none
  std::string ckpt_path = {};
  /// The start identity of a restarted fit, else empty. The fit's own checkpoints take precedence over `ckpt_path`.
  std::string restarted = {};
  CheckpointUse use = CheckpointUse::Resume;
  /// Tensors of a sharded checkpoint are read when operations use them, and take no memory between (lazy_tensor).
  bool lazily = false;
};

/// A checkpoint that was found, and the folder in which a fit continues.
struct FoundCheckpoint {
  ReadCheckpoint checkpoint = {};
  std::string url = {};                   ///< set if the file is a copy from a server
  std::filesystem::path run_folder = {};  ///< of the run that wrote it; empty: unknown
  bool resumes_in_place = false;          ///< the fit continues in run_folder
  /// Whether a request to stop in the checkpoint still holds: the run was cut off. If it ended in order, its user wants
  /// it to train on.
  bool keeps_stop_request = false;
  RunLock lock = {};  ///< of run_folder, if the fit continues there
};

/// Finds the requested checkpoint. Returns nullopt if none is requested, and for "last" if there is none. Throws
/// levin::UsageError if any other file is missing or damaged, or if another process is writing to the run's folder.
std::optional<FoundCheckpoint> find_checkpoint(const FindRequest& request);
/// Returns the same on several ranks: rank 0 searches, because ranks may see different files, and all ranks read the
/// file that it found. Only rank 0 holds the lock. Collective: all ranks call it.
std::optional<FoundCheckpoint> find_checkpoint(const FindRequest& request, Comm& comm);

}  // namespace levin
