#include <levin/callbacks/device_stats_monitor.h>
#include <levin/core/system/memory_use.h>

#include <chrono>
#include <ctime>

namespace levin {
namespace {

constexpr const char* kPrefix = "DeviceStatsMonitor.on_train_batch_end/";
constexpr LogOptions kEachStep{.on_step = true, .on_epoch = false};

double seconds_of_cpu() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void log_value(Run& run, const char* name, double value) { run.log(std::string(kPrefix) + name, value, kEachStep); }

void log_device(Run& run, const DeviceMemory& memory) {
  const auto bytes = [](int64_t count) { return static_cast<double>(count); };
  log_value(run, "allocated_bytes.current", bytes(memory.allocated));
  log_value(run, "allocated_bytes.peak", bytes(memory.allocated_peak));
  log_value(run, "reserved_bytes.current", bytes(memory.reserved));
  log_value(run, "reserved_bytes.peak", bytes(memory.reserved_peak));
  log_value(run, "num_ooms", bytes(memory.out_of_memory_errors));
  log_value(run, "memory_free_bytes", bytes(memory.free));
}

}  // namespace

DeviceStatsMonitor::DeviceStatsMonitor(DeviceStatsMonitorOptions options) : options_(options) {
  schema_of<Options>().check(&options_, "DeviceStatsMonitor");
}

void DeviceStatsMonitor::on_train_batch_end(Run& run) {
  if (run.state().batches_seen % options_.every_n_steps != 0) return;
  if (const auto memory = device_memory(run.device())) log_device(run, *memory);
  if (options_.cpu_stats.value_or(run.device().is_cpu())) log_cpu(run);
}

void DeviceStatsMonitor::log_cpu(Run& run) {
  const double cpu = seconds_of_cpu(), wall = seconds_now();
  if (wall_seconds_ > 0 && wall > wall_seconds_)
    log_value(run, "cpu_percent", 100 * (cpu - cpu_seconds_) / (wall - wall_seconds_));
  cpu_seconds_ = cpu;
  wall_seconds_ = wall;
  const HostMemory memory = host_memory();
  log_value(run, "resident_bytes", static_cast<double>(memory.resident));
  log_value(run, "resident_bytes.peak", static_cast<double>(memory.resident_peak));
  log_value(run, "available_bytes", static_cast<double>(memory.available));
}

}  // namespace levin
