#pragma once
#include <levin/core/run/metrics.h>
#include <levin/core/run/profiler.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// How a fit ended; the run's summary.json holds the same.
struct RunResult {
  std::string status = {};       ///< "completed", "stopped" if something asked the run to end early, or "failed"
  std::string stop_reason = {};  ///< of a stopped run; not in the file
  int64_t epochs = 0;            ///< finished epochs, plus one if the last was not finished
  int64_t global_step = 0;
  int64_t batches = 0;                          ///< train batches of the run; not in the file
  std::optional<int64_t> non_finite_step = {};  ///< the first step whose loss was NaN or infinite; not in the file
  double wall_seconds = 0;
  Metrics metrics = {};                        ///< the last value of each logged name
  std::filesystem::path best_checkpoint = {};  ///< empty without checkpoints
  std::optional<double> best_score = {};       ///< of best_checkpoint, if a ModelCheckpoint has a monitor
  std::filesystem::path folder = {};           ///< the run's folder; empty if the run wrote no files
  std::vector<std::string> warnings = {};      ///< the run's warnings, each text once; not in the file
  ProfileTotals profile = {};                  ///< of the option `profiler`, this rank's; not in the file
};

}  // namespace levin
