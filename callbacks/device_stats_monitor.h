#pragma once
#include <levin/callbacks/callback.h>
#include <levin/core/options/option.h>

#include <optional>

namespace levin {

struct DeviceStatsMonitorOptions {
  std::optional<bool> cpu_stats =
      LEVIN_OPTION(cpu_stats, {}, "Log the CPU's values too; unset: only where the run is on the CPU");
  int64_t every_n_steps = LEVIN_OPTION(every_n_steps, 50, "Log every n training batches", {.min = 1});
};

/// Logs memory and load of the run's device at log points: `DeviceStatsMonitor.on_train_batch_end/...`.
///
/// GPU: `allocated_bytes.current`, `allocated_bytes.peak`, `reserved_bytes.current`, `reserved_bytes.peak` and
/// `num_ooms` of LibTorch's caching allocator, and `memory_free_bytes` of the device. CPU (or with `cpu_stats`):
/// `cpu_percent` (of one core, all threads of the process, since the last value), `resident_bytes`,
/// `resident_bytes.peak` of the process and `available_bytes` of the machine.
/// Source: lightning.pytorch.callbacks.DeviceStatsMonitor
class DeviceStatsMonitor : public Callback {
 public:
  using Options = DeviceStatsMonitorOptions;

  DeviceStatsMonitor() = default;
  /// Throws UsageError for bad options.
  explicit DeviceStatsMonitor(DeviceStatsMonitorOptions options);
  void on_train_batch_end(Run& run) override;

 private:
  void log_cpu(Run& run);

  DeviceStatsMonitorOptions options_ = {};
  double cpu_seconds_ = 0, wall_seconds_ = 0;  ///< at the last computation of cpu_percent
};

}  // namespace levin
