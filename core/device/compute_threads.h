#pragma once

namespace levin {

/// Sets the number of LibTorch's compute threads for the calling thread while it is in scope.
///
/// at::set_num_threads would also change the default of threads started later; this guard sets OpenMP's and MKL's
/// numbers for the calling thread only.
class ComputeThreadsGuard {
 public:
  explicit ComputeThreadsGuard(int threads);
  ~ComputeThreadsGuard();
  ComputeThreadsGuard(const ComputeThreadsGuard&) = delete;
  ComputeThreadsGuard& operator=(const ComputeThreadsGuard&) = delete;

 private:
  int before_;
  int mkl_before_;
};

}  // namespace levin
