#pragma once
#include <levin/trainer/core/deterministic.h>

#include <cstdint>
#include <optional>
#include <string>

namespace levin {

/// LibTorch's process-wide switches, set for the time of a run and put back by the destructor.
///
/// Deterministic algorithms make a run repeat on the same machine, LibTorch and number of threads; they cannot make
/// another machine or another number of threads give the same bits, nor the user's own random numbers. On CUDA,
/// cuBLAS also needs CUBLAS_WORKSPACE_CONFIG=:4096:8 in the environment, or its calls throw.
/// Source: https://pytorch.org/docs/stable/notes/randomness.html
class TorchSettings {
 public:
  struct Options {
    Deterministic deterministic = {};
    bool benchmark = false;       ///< cuDNN tries which algorithms are fastest
    bool detect_anomaly = false;  ///< backward throws where a gradient is NaN, and prints the forward operation
    bool flush_denormal = false;  ///< the CPU takes denormal numbers as 0, in the calling and all compute threads
    /// Compute threads of the CPU. Unset: LibTorch's number, at most the cores that the process may use; where
    /// OMP_NUM_THREADS or MKL_NUM_THREADS is set, that stays.
    std::optional<int64_t> num_threads = {};
    /// "highest", "high" or "medium": what float32 matrix products compute in. Unset: as it is.
    /// Source: https://pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html
    std::optional<std::string> float32_matmul_precision = {};
  };

  explicit TorchSettings(const Options& options);
  ~TorchSettings();
  TorchSettings(const TorchSettings&) = delete;
  TorchSettings& operator=(const TorchSettings&) = delete;

 private:
  bool algorithms_, warn_only_, cudnn_, benchmark_, anomaly_, anomaly_checks_nan_;
  int threads_;
  bool flushes_;
  std::optional<std::string> float32_matmul_precision_;  ///< as before; unset where it was not changed
};

}  // namespace levin
