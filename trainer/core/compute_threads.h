#pragma once

namespace levin {

/// Lets LibTorch compute with `threads` threads in this thread, until it goes out of scope.
///
/// at::set_num_threads would change the number that all later threads begin with; this changes OpenMP's and MKL's
/// numbers of the calling thread alone.
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
