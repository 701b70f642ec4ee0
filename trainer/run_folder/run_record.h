#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// The identity of a run (run.json in its folder). The run's checkpoints hold the id too.
struct RunRecord {
  std::string id = {};                               ///< of the run, the same in all of its sessions
  std::vector<std::string> starts = {};              ///< start identities of the fits that wrote here
  std::vector<std::string> checkpoint_folders = {};  ///< absolute paths, only of folders outside the run's folder
  /// The global step at which the run had ended in order and a later fit trained on; -1: none did. A request to stop in
  /// a checkpoint of this step holds no more.
  int64_t trained_on_after = -1;

  bool has_start(const std::string& start) const;
};

/// Returns a new record with a random id.
RunRecord new_run_record();

/// Reads run.json; nullopt if `run_folder` has none, or one that cannot be read. Throws levin::UsageError if that is
/// none of the file's doing: a device that fails, too many open files.
std::optional<RunRecord> read_run_record(const std::filesystem::path& run_folder);

/// Writes run.json. Throws levin::Error if it cannot be written.
void write_run_record(const std::filesystem::path& run_folder, const RunRecord& record);

/// The name of the record file in a run's folder.
inline constexpr const char* kRunRecordFile = "run.json";

}  // namespace levin
