#include <levin/data/worker_thread.h>
#include <ATen/Parallel.h>
#include <c10/util/StringUtil.h>
#include <dlfcn.h>
#include <levin/trainer/core/console.h>
#include <levin/trainer/core/cores.h>
#include <pthread.h>

#include <atomic>
#include <csignal>

namespace levin::data {
namespace {

/// Makes this thread compute alone. LibTorch brings its own OpenMP, whose function is found by name; LibTorch's own
/// at::set_num_threads would set the whole process.
void compute_alone() {
  at::get_num_threads();  // the first call in a thread takes over the process's number
  using SetNumThreads = void (*)(int);
  if (const auto set = reinterpret_cast<SetNumThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(1);
}

}  // namespace

void prepare_worker_thread() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  pthread_setname_np(pthread_self(), "levin-data");
  compute_alone();
}

void warn_of_many_workers(int64_t num_workers) {
  static std::atomic<bool> warned = false;
  const int64_t cores = cores_of_process();
  if (num_workers <= cores || warned.exchange(true)) return;
  console::warn(c10::str("data.num_workers: ", num_workers, " threads for ", cores,
                         " cores; more workers than cores seldom load faster"));
}

}  // namespace levin::data
