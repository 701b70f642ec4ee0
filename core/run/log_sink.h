#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/run/metrics.h>

#include <memory>
#include <optional>
#include <string>

namespace levin {

class LoggedMetric;

/// The reduction of one epoch's values to one value.
enum class ReduceFx { Mean, Sum, Min, Max };

/// Options of `log`, with PyTorch Lightning's names.
struct LogOptions {
  bool prog_bar = false;  ///< show the value in the progress bar
  bool logger = true;     ///< send the value to the loggers
  /// Log the value at each log point. Unset: true in training steps and batch hooks, false elsewhere.
  std::optional<bool> on_step = {};
  /// Log the value reduced over the epoch. Unset: the opposite of on_step's default.
  std::optional<bool> on_epoch = {};
  ReduceFx reduce_fx = ReduceFx::Mean;  ///< means are weighted by batch_size
  /// Whether to reduce over all ranks. Values are always reduced when they are read, at no cost between log points, so
  /// `true` is implied; `false` is accepted, with a warning if there are several ranks.
  std::optional<bool> sync_dist = {};
  bool add_dataloader_idx = true;          ///< with several loaders, log as name/dataloader_idx_N
  std::optional<int64_t> batch_size = {};  ///< number of samples that the value stands for; unset: the batch's
};

/// The receiver of logged values. They are detached, accumulated on their device, and read only at log points.
class LogSink {
 public:
  virtual ~LogSink() = default;
  /// `value` has one element, of any floating or integer dtype, on any device.
  virtual void log(const std::string& name, const at::Tensor& value, const LogOptions& options) = 0;
  virtual void log(const std::string& name, double value, const LogOptions& options) = 0;
  /// Computes `metric` over all ranks at the epoch's end and then resets it. Unset on_step means false, unset on_epoch
  /// true; with on_step the log points show the metric's batch_value().
  virtual void log(const std::string& name, const std::shared_ptr<LoggedMetric>& metric, const LogOptions& options) = 0;
};

}  // namespace levin
