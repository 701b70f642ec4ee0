#include <levin/core/device/torch_settings.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <levin/core/system/cores.h>
#include <levin/core/system/start_thread.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <vector>

namespace levin {

using torch::autograd::AnomalyMode;

namespace {

/// Returns whether this thread flushes denormal numbers to 0; LibTorch can set that, but not query it.
bool flushes_denormal() {
  volatile float least = std::numeric_limits<float>::denorm_min();
  return least * 1.0F == 0.0F;
}

/// Sets the switch, which is per thread, in the calling thread, where backward runs too, and in each compute thread.
void set_flush_denormal(bool on) {
  at::parallel_for(0, at::get_num_threads(), 1, [&](int64_t, int64_t) { at::globalContext().setFlushDenormal(on); });
}

int choose_threads(const std::optional<int64_t>& wanted, int present) {
  if (wanted) return static_cast<int>(*wanted);
  if (std::getenv("OMP_NUM_THREADS") || std::getenv("MKL_NUM_THREADS")) return present;
  return static_cast<int>(std::min<int64_t>(present, cores_of_process()));
}

std::string float32_matmul_precision() {
  switch (at::globalContext().float32MatmulPrecision()) {
    case at::Float32MatmulPrecision::HIGH:
      return "high";
    case at::Float32MatmulPrecision::MEDIUM:
      return "medium";
    default:
      return "highest";
  }
}

/// The settings of runs in progress, the newest last.
std::vector<TorchSettings*>& in_progress() {
  static auto* const all = new std::vector<TorchSettings*>;  // outlives runs that are static
  return *all;
}

std::mutex& mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

}  // namespace

TorchSettings::Switches TorchSettings::present() {
  const at::Context& context = at::globalContext();
  return {.algorithms = context.deterministicAlgorithms(),
          .warn_only = context.deterministicAlgorithmsWarnOnly(),
          .cudnn = context.deterministicCuDNN(),
          .benchmark = context.benchmarkCuDNN(),
          .anomaly = AnomalyMode::is_enabled(),
          .anomaly_checks_nan = AnomalyMode::should_check_nan()};
}

void TorchSettings::set(const Switches& switches) {
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(switches.algorithms, switches.warn_only);
  context.setDeterministicCuDNN(switches.cudnn);
  context.setBenchmarkCuDNN(switches.benchmark);
  AnomalyMode::set_enabled(switches.anomaly, switches.anomaly_checks_nan);
  if (switches.float32_matmul_precision) context.setFloat32MatmulPrecision(*switches.float32_matmul_precision);
}

TorchSettings::TorchSettings(const Options& options) : threads_(at::get_num_threads()), flushes_(flushes_denormal()) {
  const std::lock_guard lock(mutex());
  Switches wanted = before_ = present();
  if (options.deterministic) {
    if (at::hasCUDA()) ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
    wanted.algorithms = wanted.cudnn = true;
    wanted.warn_only = options.deterministic.mode() == Deterministic::Mode::Warn;
  }
  if (options.benchmark) wanted.benchmark = true;
  if (options.detect_anomaly) wanted.anomaly = wanted.anomaly_checks_nan = true;
  if (options.float32_matmul_precision) {
    before_.float32_matmul_precision = float32_matmul_precision();
    wanted.float32_matmul_precision = options.float32_matmul_precision;
  }
  const int threads = choose_threads(options.num_threads, threads_);
  // OpenMP starts them when they are first needed, and ends the process if it cannot.
  static bool can_compute = false;
  if (!can_compute) require_threads("computing", threads - 1);
  can_compute = true;
  set(wanted);
  if (threads != threads_) at::set_num_threads(threads);
  if (options.flush_denormal && !flushes_) set_flush_denormal(true);
  in_progress().push_back(this);
}

TorchSettings::~TorchSettings() {
  const std::lock_guard lock(mutex());
  std::vector<TorchSettings*>& all = in_progress();
  const auto next = all.erase(std::find(all.begin(), all.end(), this));
  if (next == all.end()) {
    set(before_);
  } else {
    // A newer run is in progress, and ends with what this one found.
    if (!before_.float32_matmul_precision) before_.float32_matmul_precision = (*next)->before_.float32_matmul_precision;
    (*next)->before_ = before_;
  }
  if (flushes_denormal() != flushes_) set_flush_denormal(flushes_);
  if (at::get_num_threads() != threads_) at::set_num_threads(threads_);
}

}  // namespace levin
