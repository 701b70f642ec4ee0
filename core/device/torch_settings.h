#pragma once
#include <levin/core/options/deterministic.h>

#include <cstdint>
#include <optional>
#include <string>

namespace levin {

struct TorchSettingsOptions {
  Deterministic deterministic = {};
  bool benchmark = false;       ///< cuDNN searches for the fastest algorithms
  bool detect_anomaly = false;  ///< backward throws if a gradient is NaN, and prints the forward operation
  bool flush_denormal = false;  ///< the CPU flushes denormal numbers to 0, in the calling and all compute threads
  /// Compute threads of the CPU. Unset: LibTorch's number, limited to the cores that the process may use; if
  /// OMP_NUM_THREADS or MKL_NUM_THREADS is set, LibTorch's number without that limit.
  std::optional<int64_t> num_threads = {};
  /// Precision of float32 matrix products: "highest", "high" or "medium". Unset: unchanged.
  /// Source: https://pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html
  std::optional<std::string> float32_matmul_precision = {};
};

/// LibTorch's process-wide switches: the constructor sets them for a run, the destructor restores them. Runs may
/// overlap in any order, also in several threads: the newest one's switches hold, and after all have ended those from
/// before.
///
/// Deterministic algorithms make a run repeat on the same machine, LibTorch and number of threads. They do not make
/// another machine or number of threads give the same bits, nor do they seed the user's own generators. On CUDA, cuBLAS
/// also needs the environment's CUBLAS_WORKSPACE_CONFIG, which is set to :4096:8 if it is unset, and stays.
/// Source: https://pytorch.org/docs/stable/notes/randomness.html
class TorchSettings {
 public:
  using Options = TorchSettingsOptions;

  explicit TorchSettings(const TorchSettingsOptions& options);
  ~TorchSettings();
  TorchSettings(const TorchSettings&) = delete;
  TorchSettings& operator=(const TorchSettings&) = delete;

 private:
  /// What holds for all threads.
  struct Switches {
    bool algorithms, warn_only, cudnn, benchmark, anomaly, anomaly_checks_nan;
    std::optional<std::string> float32_matmul_precision = {};  ///< unset: not to be changed
  };
  static Switches present();
  static void set(const Switches& switches);

  Switches before_;
  int threads_;
  bool flushes_;
};

}  // namespace levin
