#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// What tells a run from others (run.json in its folder). Its checkpoints have the id too.
struct RunRecord {
  std::string id = {};                   ///< of the run, in all of its sessions
  std::vector<std::string> starts = {};  ///< the fits that wrote here, by what stays equal when a job is restarted
  std::vector<std::string> checkpoint_folders = {};  ///< absolute; those outside the run's folder

  bool has_start(const std::string& start) const;
};

/// A new record with a random id.
RunRecord new_run_record();

/// Nothing where `run_folder` has no run.json, or one that cannot be read.
std::optional<RunRecord> read_run_record(const std::filesystem::path& run_folder);

/// Throws levin::Error where it cannot be written.
void write_run_record(const std::filesystem::path& run_folder, const RunRecord& record);

/// The name of the record's file in a run's folder.
inline constexpr const char* kRunRecordFile = "run.json";

}  // namespace levin
