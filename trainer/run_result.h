#pragma once
#include <levin/trainer/core/log_sink.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace levin {

class RunContext;
class RunFolder;

/// How a fit ended.
struct RunResult {
  std::string status = {};       ///< "completed", or "stopped" where something asked the run to end early
  std::string stop_reason = {};  ///< of a stopped run
  int64_t epochs = 0;            ///< whole or begun
  int64_t global_step = 0;
  double wall_seconds = 0;
  Metrics metrics = {};                        ///< the last value of everything that was logged
  std::filesystem::path best_checkpoint = {};  ///< empty without checkpoints
  std::optional<double> best_score = {};       ///< of best_checkpoint, where a ModelCheckpoint has a monitor
  std::filesystem::path folder = {};           ///< the run's folder; empty where it leaves nothing behind
};

/// Of a run that has ended, or is to end now.
RunResult result_of(const RunContext& run);

/// Writes it as summary.json into the run's folder, where there is one.
void write_summary(const RunResult& result, const RunFolder& folder);

}  // namespace levin
