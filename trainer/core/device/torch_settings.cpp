#include <levin/trainer/core/device/torch_settings.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <levin/trainer/core/system/cores.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

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

}  // namespace

TorchSettings::TorchSettings(const Options& options)
    : algorithms_(at::globalContext().deterministicAlgorithms()),
      warn_only_(at::globalContext().deterministicAlgorithmsWarnOnly()),
      cudnn_(at::globalContext().deterministicCuDNN()),
      benchmark_(at::globalContext().benchmarkCuDNN()),
      anomaly_(AnomalyMode::is_enabled()),
      anomaly_checks_nan_(AnomalyMode::should_check_nan()),
      threads_(at::get_num_threads()),
      flushes_(flushes_denormal()) {
  at::Context& context = at::globalContext();
  if (options.deterministic) {
    context.setDeterministicAlgorithms(true, options.deterministic.mode() == Deterministic::Mode::Warn);
    context.setDeterministicCuDNN(true);
  }
  if (options.benchmark) context.setBenchmarkCuDNN(true);
  if (options.detect_anomaly) AnomalyMode::set_enabled(true, /*check_nan=*/true);
  const int threads = choose_threads(options.num_threads, threads_);
  if (threads != threads_) at::set_num_threads(threads);
  if (options.flush_denormal && !flushes_) set_flush_denormal(true);
  if (options.float32_matmul_precision) {
    float32_matmul_precision_ = float32_matmul_precision();
    context.setFloat32MatmulPrecision(*options.float32_matmul_precision);
  }
}

TorchSettings::~TorchSettings() {
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(algorithms_, warn_only_);
  context.setDeterministicCuDNN(cudnn_);
  context.setBenchmarkCuDNN(benchmark_);
  if (float32_matmul_precision_) context.setFloat32MatmulPrecision(*float32_matmul_precision_);
  AnomalyMode::set_enabled(anomaly_, anomaly_checks_nan_);
  if (flushes_denormal() != flushes_) set_flush_denormal(flushes_);
  if (at::get_num_threads() != threads_) at::set_num_threads(threads_);
}

}  // namespace levin
