#pragma once
#include <levin/trainer/run_folder/find_checkpoint.h>
#include <levin/trainer/run_folder/run_lock.h>
#include <levin/trainer/run_folder/run_record.h>
#include <levin/trainer/run_folder/run_result.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace levin {

/// The config of a run as it is written to files. Values from the environment (${env:NAME}) may be secrets, so the
/// reference is written instead of the value.
struct RunConfig {
  std::string json = {};             ///< the text of config.json
  std::string hyperparameters = {};  ///< the module's, a JSON object
  std::string digest = {};           ///< of all values, to compare ranks; empty if `json` holds all values
};

/// The folder `<default_root_dir>/<name>/version_<n>` of a run, with its lock, run.json (the run's identity),
/// config.json and summary.json. Rank 0 owns the folder; the other ranks only know its path.
class RunFolder {
 public:
  /// No folder: the run writes no files.
  RunFolder() = default;

  /// Creates the folder with the next free number, and its parents, and locks it. `start` identifies the fit when it is
  /// restarted; it may be empty. Processes that start at the same time get different folders. Throws UsageError if the
  /// folder cannot be created or `name` leads out of `default_root_dir`.
  static RunFolder create(const std::filesystem::path& default_root_dir, const std::string& name,
                          const std::string& start);
  /// Continues in the folder of the checkpoint's run, and takes its lock from `found`.
  static RunFolder resume(FoundCheckpoint& found, const std::string& start);
  /// Returns the view of the folder for ranks other than 0.
  static RunFolder of_rank_zero(const std::filesystem::path& folder, bool is_resumed);

  /// Empty without a folder.
  const std::filesystem::path& path() const { return path_; }
  bool empty() const { return path_.empty(); }
  /// Returns whether an earlier session of the run wrote to this folder.
  bool is_resumed() const { return is_resumed_; }
  /// Returns the run's id, the same in all of its sessions; empty on ranks other than 0.
  const std::string& id() const { return record_.id; }

  void write_config(std::string_view json) const;
  /// Records the folder of a checkpoint that is saved outside the run's folder, so that a resume finds it.
  void note_checkpoint(const std::filesystem::path& file);
  /// Makes the folder again, with a warning, if somebody has removed it since: what a run writes at its end is not
  /// lost.
  void make_again_if_removed() const;
  /// Writes summary.json; a no-op without a folder.
  void write_summary(const RunResult& result) const;
  /// Removes the folder if it holds only what every run writes before its first batch.
  void remove_if_bare();
  /// Releases the lock so that another process can continue in the folder. The destructor does the same.
  void unlock() { lock_.release(); }

 private:
  void add_start(const std::string& start);

  std::filesystem::path path_ = {};
  RunLock lock_ = {};
  RunRecord record_ = {};
  bool is_resumed_ = false;
};

}  // namespace levin
