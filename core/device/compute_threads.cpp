#include <levin/core/device/compute_threads.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace levin {
namespace {

// LibTorch brings its own OpenMP and possibly MKL; their functions are looked up by name.
void set_openmp_threads(int threads) {
  using Set = void (*)(int);
  static const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set) set(threads);
}

/// Returns the previous number; 0 means that MKL uses OpenMP's.
int set_mkl_threads(int threads) {
  using Set = int (*)(int);
  static const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "MKL_Set_Num_Threads_Local"));
  return set ? set(threads) : 0;
}

}  // namespace

ComputeThreadsGuard::ComputeThreadsGuard(int threads)
    : before_(at::get_num_threads()),
      mkl_before_(set_mkl_threads(threads)) {  // the first call in a process sets the default
  set_openmp_threads(threads);
}

ComputeThreadsGuard::~ComputeThreadsGuard() {
  set_openmp_threads(before_);
  set_mkl_threads(mkl_before_);
}

}  // namespace levin
