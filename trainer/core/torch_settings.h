#pragma once
#include <levin/trainer/core/deterministic.h>

namespace levin {

/// LibTorch's process-wide switches, set for the time of a run and put back by the destructor.
///
/// Deterministic algorithms make a run repeat on the same machine, LibTorch and number of threads; they cannot make
/// another machine or another number of threads give the same bits, nor the user's own random numbers. On CUDA,
/// cuBLAS also needs CUBLAS_WORKSPACE_CONFIG=:4096:8 in the environment, or its calls throw.
/// Source: https://pytorch.org/docs/stable/notes/randomness.html
class TorchSettings {
 public:
  /// `benchmark`: cuDNN tries which algorithms are fastest. `detect_anomaly`: backward throws where a gradient is NaN,
  /// and prints which forward operation it belongs to.
  TorchSettings(Deterministic deterministic, bool benchmark, bool detect_anomaly);
  ~TorchSettings();
  TorchSettings(const TorchSettings&) = delete;
  TorchSettings& operator=(const TorchSettings&) = delete;

 private:
  bool algorithms_, warn_only_, cudnn_, benchmark_, anomaly_, anomaly_checks_nan_;
};

}  // namespace levin
