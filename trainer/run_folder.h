#pragma once
#include <levin/trainer/checkpoint/run_lock.h>
#include <levin/trainer/checkpoint/run_record.h>
#include <levin/trainer/loggers/run_summary.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace levin {

/// The config of a run as its files keep it. What came from the environment (${env:NAME}) may be a secret: the program
/// keeps the reference.
struct RunConfig {
  std::string json = {};             ///< of config.json
  std::string hyperparameters = {};  ///< the module's, a JSON object
  std::string digest = {};           ///< of all values, to compare ranks by; empty: `json` has them all
};

/// The folder `<default_root_dir>/<name>/version_<n>` of a run: its number, its lock, which run it is (run.json), its
/// config.json and summary.json. Rank 0 owns it; the other ranks know its path alone.
class RunFolder {
 public:
  /// No folder: the run leaves nothing behind.
  RunFolder() = default;

  /// Makes the folder with the next free number, and those above it, and locks it. `start`: what tells the fit from
  /// others when it is restarted; empty where nothing does. Processes that begin together get different folders.
  /// Throws UsageError where the folder cannot be made, or `name` leads out of `default_root_dir`.
  static RunFolder create(const std::filesystem::path& default_root_dir, const std::string& name,
                          const std::string& start);
  /// Goes on in the folder of an earlier session, whose lock the caller has.
  static RunFolder resume(const std::filesystem::path& folder, RunLock lock, const std::string& start);
  /// The folder as the other ranks know it.
  static RunFolder of_rank_zero(const std::filesystem::path& folder, bool is_resumed);

  /// Empty without a folder.
  const std::filesystem::path& path() const { return path_; }
  bool empty() const { return path_.empty(); }
  /// Whether an earlier session of the run wrote here.
  bool is_resumed() const { return is_resumed_; }
  /// The run's id, in all of its sessions; empty on other ranks than 0.
  const std::string& id() const { return record_.id; }

  void write_config(std::string_view json) const;
  /// Remembers where a checkpoint of the run is, so that it is found by the folder.
  void note_checkpoint(const std::filesystem::path& file);
  /// Nothing without a folder.
  void write_summary(const RunSummary& summary) const;
  /// Removes the folder where it holds nothing but what every run has before its first batch.
  void remove_if_bare();
  /// Lets another process go on in the folder; also when the object goes.
  void unlock() { lock_.release(); }

 private:
  void add_start(const std::string& start);

  std::filesystem::path path_ = {};
  RunLock lock_ = {};
  RunRecord record_ = {};
  bool is_resumed_ = false;
};

}  // namespace levin
