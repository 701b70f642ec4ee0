#pragma once
#include <levin/core/run/metrics.h>
#include <levin/core/state/state.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace levin {

class LightningModule;

/// The position in the run at which values were logged.
struct LogRow {
  int64_t step = 0;         ///< global_step after the batch
  int64_t epoch = 0;        ///< counted from 0
  double wall_seconds = 0;  ///< since the run started, over all its sessions
};

/// A destination for the values of `log`, called at each log point, and for what Run::log_image, log_histogram,
/// log_text and log_artifact are given. Only rank 0 calls it.
///
/// A function may throw: the run says so once for each logger, and goes on. It must not wait for a network: a logger
/// that does is wrapped in a BackgroundLogger.
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
  /// Receives the module once, before the first row, on its device. Ignored by default.
  virtual void log_graph(LightningModule& /*module*/) {}
  /// Adds an image: [height, width] or [1 or 3, height, width], uint8, bool, or floating point from 0 to 1. Ignored by
  /// default.
  virtual void log_image(const std::string& /*name*/, const at::Tensor& /*image*/, const LogRow& /*where*/) {}
  /// Adds the distribution of a tensor's elements. Ignored by default.
  virtual void log_histogram(const std::string& /*name*/, const at::Tensor& /*values*/, const LogRow& /*where*/) {}
  /// Adds a text, which may be Markdown. Ignored by default.
  virtual void log_text(const std::string& /*name*/, const std::string& /*text*/, const LogRow& /*where*/) {}
  /// Keeps a copy of a file below `folder` (empty: the root). Ignored by default, because the file is there.
  virtual void log_artifact(const std::filesystem::path& /*file*/, const std::string& /*folder*/) {}
  /// Receives the message of the exception that ends a fit, before finalize("failed"). Ignored by default.
  virtual void log_exception(const std::string& /*message*/) {}
  /// Called at the end of a fit with status "completed", "stopped" or "failed".
  virtual void finalize(const std::string& /*status*/) {}

  /// Returns the logger's position.
  virtual State state_dict() const { return {}; }
  /// Continues from `state`: drops everything that was logged after it.
  virtual void load_state_dict(const State& /*state*/) {}
};

}  // namespace levin
