#include <levin/data/loading/worker_thread.h>
#include <c10/util/StringUtil.h>
#include <levin/core/device/compute_threads.h>
#include <levin/core/system/console.h>
#include <levin/core/system/cores.h>
#include <pthread.h>

#include <atomic>
#include <csignal>

namespace levin::data {

void prepare_worker_thread() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  pthread_setname_np(pthread_self(), "levin-data");
  static thread_local const ComputeThreadsGuard alone(1);
}

void warn_of_many_workers(int64_t num_workers) {
  static std::atomic<bool> warned = false;
  const int64_t cores = cores_of_process();
  if (num_workers <= cores || warned.exchange(true)) return;
  console::warn(c10::str("data.num_workers: ", num_workers, " workers for ", cores,
                         " cores; more than cores seldom load faster"));
}

}  // namespace levin::data
