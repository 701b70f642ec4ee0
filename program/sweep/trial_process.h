#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace levin::sweep {

/// Where a trial runs.
struct Place {
  std::vector<int> cores = {};  ///< empty: all
  std::string gpus = {};        ///< for CUDA_VISIBLE_DEVICES; empty: unchanged
};

/// Returns the places of `jobs` trials at once: each has its share of `cores` cores of this process, and one of `gpus`
/// in turn. If there are more jobs than cores, some share one.
std::vector<Place> make_places(int64_t jobs, int64_t cores, const std::vector<std::string>& gpus);

/// What a trial's process is asked to do.
struct TrialRequest {
  std::vector<std::string> words = {};  ///< of this program, behind its name
  Place place = {};
  int64_t epochs = 0;                   ///< it ends after so many (StopAfterEpochs); 0: in its own time
  std::filesystem::path log = {};       ///< its output is appended there
  std::filesystem::path end_mark = {};  ///< the file that it makes when the fit has ended in order
};

/// In the process of a trial, makes the file that says that the fit has ended in order; a no-op elsewhere. A sweep that
/// is killed before it has read the exit code finds it.
void mark_end_of_trial();

/// How the process of a trial has ended.
struct TrialOutcome {
  bool was_killed = false;  ///< by a signal
  std::string error = {};   ///< empty if it ended in order
};

/// The process of a trial.
class TrialProcess {
 public:
  /// Throws as start_process does.
  explicit TrialProcess(const TrialRequest& request);

  void send(int signal_number) const;
  /// Returns the outcome, once, when the process has ended.
  std::optional<TrialOutcome> reap();

 private:
  std::filesystem::path log_, failure_file_;
  ::pid_t id_ = -1;
};

}  // namespace levin::sweep
