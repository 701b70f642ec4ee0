#pragma once
#include <levin/program/runs/recorded_run.h>
#include <levin/program/sweep/proposals.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace levin::sweep {

/// What a sweep does.
struct SweepPlan {
  std::filesystem::path folder = {};
  nlohmann::ordered_json identity = {};  ///< what must be the same to go on in the folder
  std::vector<Assignment> trials = {};
  runs::Monitor monitor = {};
  /// The epochs of the rungs; the last one's are those of the config. One rung: every trial trains to its end.
  std::vector<int64_t> rungs = {0};
  int64_t reduction_factor = 3;
  int64_t jobs = 1;                    ///< trials at once
  int64_t cores = 1;                   ///< for all of them
  std::vector<std::string> gpus = {};  ///< each job gets one, in turn
  bool retries_failed = false;         ///< trials that failed in an earlier session restart from the beginning
  /// Returns the words of the fit of a trial, behind the program's name.
  std::function<std::vector<std::string>(size_t trial)> words = {};
};

/// What became of a trial.
struct TrialRow {
  int64_t trial = 0;
  std::string status =
      {};  ///< "completed"; "stopped" before the config's epochs, by itself or the sweep; "failed", "open"
  int64_t epochs = 0;
  std::optional<double> value = {};  ///< the best of the monitor; unset if it failed, or had no finite value
  int64_t step = 0;                  ///< of that value
  std::string error = {};
  std::filesystem::path run_folder = {};  ///< empty without one
};

/// Returns the folder of a trial in that of its sweep, which holds the folder of its run.
std::filesystem::path trial_folder(const std::filesystem::path& sweep, size_t trial);

/// Runs the trials that are left, `jobs` at once, each in a process of its own, and tells on `out` how each has ended.
/// A trial whose process is killed is continued from its checkpoint, three times at most. After SIGTERM or SIGINT
/// (under a SignalGuard) the trials save and end, and the rest stays open. Returns a row for each trial: the best
/// first, those without a value last.
///
/// Throws levin::UsageError as Journal does, and if the first trials that end have not logged the monitor.
std::vector<TrialRow> run_sweep(const SweepPlan& plan, std::ostream& out);

}  // namespace levin::sweep
