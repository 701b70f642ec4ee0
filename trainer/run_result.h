#pragma once
#include <levin/trainer/core/run/log_sink.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace levin {

class RunContext;
class RunFolder;

/// How a fit ended.
struct RunResult {
  std::string status = {};       ///< "completed", or "stopped" if something asked the run to end early
  std::string stop_reason = {};  ///< of a stopped run
  int64_t epochs = 0;            ///< complete or started
  int64_t global_step = 0;
  double wall_seconds = 0;
  Metrics metrics = {};                        ///< the last value of each logged name
  std::filesystem::path best_checkpoint = {};  ///< empty without checkpoints
  std::optional<double> best_score = {};       ///< of best_checkpoint, if a ModelCheckpoint has a monitor
  std::filesystem::path folder = {};           ///< the run's folder; empty if the run wrote no files
};

/// Returns the result of a run that has ended or is about to end.
RunResult result_of(const RunContext& run);

/// Writes the result as summary.json into the run's folder, if there is one.
void write_summary(const RunResult& result, const RunFolder& folder);

}  // namespace levin
