#include <levin/callbacks/throughput_monitor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <levin/core/system/error.h>
#include <levin/core/system/fastest_call.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/observers/flop_counter.h>

#include <algorithm>

namespace levin {
namespace {

/// Returns the operations per second of the fastest of several products of square matrices.
double measured_flops(c10::Device device, at::ScalarType dtype) {
  constexpr double kSeconds = 0.1;
  const at::NoGradGuard no_grad;
  const int64_t n = device.is_cpu() ? 512 : 4096;
  const at::Tensor a = at::ones({n, n}, at::TensorOptions(device).dtype(dtype));
  const auto product = [&] { at::mm(a, a).select(0, 0).select(0, 0).item<double>(); };  // host sync
  const auto size = static_cast<double>(n);
  return 2 * size * size * size / seconds_of_fastest_call(kSeconds, product);
}

}  // namespace

ThroughputMonitor::ThroughputMonitor() = default;

ThroughputMonitor::ThroughputMonitor(ThroughputMonitorOptions options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "ThroughputMonitor");
}

void ThroughputMonitor::on_train_start(Run& run) {
  totals_ = {};
  window_.clear();
  flops_per_sample_ = 0;
  available_flops_ = options_.available_flops;
  const std::vector<at::Tensor> parameters = run.module().parameters();
  if (options_.count_flops && !available_flops_ && !parameters.empty() && parameters[0].is_floating_point())
    available_flops_ = measured_flops(run.device(), parameters[0].scalar_type());
  started_ = Clock::now();
}

void ThroughputMonitor::on_train_batch_start(Run& /*run*/) {
  if (options_.count_flops && totals_.batches == 0) counter_ = std::make_shared<FlopCounter>();
}

int64_t ThroughputMonitor::items_in(const Batch& batch) const {
  if (options_.length_fn) return options_.length_fn(batch);
  return options_.items_of.empty() ? 0 : batch[options_.items_of].numel();
}

void ThroughputMonitor::on_train_batch_end(Run& run) {
  const Batch& batch = run.batch();
  const int64_t samples = options_.batch_size_fn ? options_.batch_size_fn(batch) : batch.size();
  if (counter_) {
    flops_per_sample_ = static_cast<double>(counter_->flops()) / static_cast<double>(std::max<int64_t>(samples, 1));
    counter_.reset();
  }
  totals_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  totals_.batches += 1;
  totals_.samples += samples;
  totals_.items += items_in(batch);
  window_.push_back(totals_);
  if (static_cast<int64_t>(window_.size()) > options_.window_size) window_.pop_front();
  if (run.state().window.position != 0) return;  // the optimizer's step is a part of the time
  log_totals(run);
  if (static_cast<int64_t>(window_.size()) == options_.window_size) log_rates(run);
}

void ThroughputMonitor::log_totals(Run& run) const {
  const LogOptions how{.on_step = true, .on_epoch = false};
  const std::string prefix = "train" + options_.separator;
  run.log(prefix + "time", totals_.seconds, how);
  run.log(prefix + "batches", static_cast<double>(totals_.batches), how);
  run.log(prefix + "samples", static_cast<double>(totals_.samples), how);
  if (totals_.items > 0) run.log(prefix + "lengths", static_cast<double>(totals_.items), how);
}

void ThroughputMonitor::log_rates(Run& run) const {
  const LogOptions how{.on_step = true, .on_epoch = false};
  const std::string prefix = "train" + options_.separator, device = prefix + "device" + options_.separator;
  const Totals &first = window_.front(), &last = window_.back();
  const double seconds = last.seconds - first.seconds;
  if (!(seconds > 0)) return;
  const auto ranks = static_cast<double>(run.comm().world_size());
  const auto log = [&](const char* name, double rate) {
    run.log(device + name, rate, how);
    if (ranks > 1) run.log(prefix + name, rate * ranks, how);
  };
  const auto samples = static_cast<double>(last.samples - first.samples);
  log("batches_per_sec", static_cast<double>(last.batches - first.batches) / seconds);
  log("samples_per_sec", samples / seconds);
  if (last.items > 0) log("items_per_sec", static_cast<double>(last.items - first.items) / seconds);
  if (flops_per_sample_ == 0) return;
  const double flops = flops_per_sample_ * samples / seconds;
  log("flops_per_sec", flops);
  if (available_flops_) run.log(device + "mfu", flops / *available_flops_, how);
}

void ThroughputMonitor::on_validation_start(Run& run) {
  if (run.fitting() && run.state().stage == Stage::Validate) validation_started_ = Clock::now();
}

void ThroughputMonitor::on_validation_end(Run& run) {
  if (run.fitting() && run.state().stage == Stage::Validate) started_ += Clock::now() - validation_started_;
}

void ThroughputMonitor::on_exception(Run& /*run*/, const std::exception& /*error*/) { counter_.reset(); }

}  // namespace levin
