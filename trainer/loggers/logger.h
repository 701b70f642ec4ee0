#pragma once
#include <levin/trainer/core/run/metrics.h>
#include <levin/trainer/core/state/state.h>

#include <cstdint>
#include <string>

namespace levin {

/// The position in the run at which values were logged.
struct LogRow {
  int64_t step = 0;         ///< global_step after the batch
  int64_t epoch = 0;        ///< counted from 0
  double wall_seconds = 0;  ///< since the run started, over all its sessions
};

/// A destination for the values of `log`, called at each log point. Only rank 0 calls it.
class Logger {
 public:
  virtual ~Logger() = default;

  /// Returns the name of the logger's class, as shown by `levin list loggers`.
  virtual std::string name() const = 0;
  /// Adds one row with these values, or none if `values` is empty. Throws levin::Error if it cannot be written, and
  /// UsageError for a metric with the name of a fixed column (`step`, `epoch`, `wall_seconds`).
  virtual void log_metrics(const Metrics& values, const LogRow& where) = 0;
  /// Receives the module's hyperparameters, a JSON object, before the first row. Ignored by default, because
  /// config.json has them.
  virtual void log_hyperparameters(const std::string& /*json*/) {}
  /// Called at the end of a fit with status "completed", "stopped" or "failed".
  virtual void finalize(const std::string& /*status*/) {}

  /// Returns the logger's position.
  virtual State state_dict() const { return {}; }
  /// Continues from `state`: drops everything that was logged after it.
  virtual void load_state_dict(const State& /*state*/) {}
};

}  // namespace levin
