#pragma once
#include <levin/trainer/core/metrics.h>
#include <levin/trainer/core/state.h>

#include <cstdint>
#include <string>

namespace levin {

/// Where in the run values were logged.
struct LogRow {
  int64_t step = 0;         ///< global_step after the batch
  int64_t epoch = 0;        ///< counted from 0
  double wall_seconds = 0;  ///< since the run began, over all its sessions
};

/// Where the values of `log` go at each log point. Called by rank 0 alone.
class Logger {
 public:
  virtual ~Logger() = default;

  /// The logger's class, as `levin list loggers` shows it.
  virtual std::string name() const = 0;
  /// Adds one row with these values; none where `values` is empty. Throws levin::Error where it cannot be written, and
  /// UsageError for a metric that is named like a column of every row (`step`, `epoch`, `wall_seconds`).
  virtual void log_metrics(const Metrics& values, const LogRow& where) = 0;
  /// The module's hyperparameters, a JSON object, before the first row. By default not kept: config.json has them.
  virtual void log_hyperparameters(const std::string& /*json*/) {}
  /// The run is over, with status "success", "stopped" or "failed".
  virtual void finalize(const std::string& /*status*/) {}

  /// How far the logger has come.
  virtual State state_dict() const { return {}; }
  /// Goes on from there: forgets what was logged after `state` was taken.
  virtual void load_state_dict(const State& /*state*/) {}
};

}  // namespace levin
