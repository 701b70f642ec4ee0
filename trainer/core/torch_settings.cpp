#include <levin/trainer/core/torch_settings.h>
#include <ATen/Context.h>
#include <torch/csrc/autograd/anomaly_mode.h>

namespace levin {

using torch::autograd::AnomalyMode;

TorchSettings::TorchSettings(Deterministic deterministic, bool benchmark, bool detect_anomaly)
    : algorithms_(at::globalContext().deterministicAlgorithms()),
      warn_only_(at::globalContext().deterministicAlgorithmsWarnOnly()),
      cudnn_(at::globalContext().deterministicCuDNN()),
      benchmark_(at::globalContext().benchmarkCuDNN()),
      anomaly_(AnomalyMode::is_enabled()),
      anomaly_checks_nan_(AnomalyMode::should_check_nan()) {
  at::Context& context = at::globalContext();
  if (deterministic) {
    context.setDeterministicAlgorithms(true, deterministic.mode() == Deterministic::Mode::Warn);
    context.setDeterministicCuDNN(true);
  }
  if (benchmark) context.setBenchmarkCuDNN(true);
  if (detect_anomaly) AnomalyMode::set_enabled(true, /*check_nan=*/true);
}

TorchSettings::~TorchSettings() {
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(algorithms_, warn_only_);
  context.setDeterministicCuDNN(cudnn_);
  context.setBenchmarkCuDNN(benchmark_);
  AnomalyMode::set_enabled(anomaly_, anomaly_checks_nan_);
}

}  // namespace levin
