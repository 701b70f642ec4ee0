#include <levin/modules/parallel/replicas/replica_threads.h>
#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/autocast_mode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <levin/core/device/compute_threads.h>
#include <levin/core/system/error.h>
#include <levin/core/system/start_thread.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace levin::parallel {
namespace {

/// A worker thread that sleeps until it is given a job and lives as long as the process.
class PooledThread {
 public:
  PooledThread() {
    start_thread("a replica", [this] { loop(); }).detach();
  }

  void start(const std::function<void()>& job) {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !job_; });
  }

 private:
  void loop() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), "levin-replica");
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return job_; });
      lock.unlock();
      (*job_)();
      lock.lock();
      job_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* job_ = nullptr;
};

/// Borrows threads from the pool for one call. The pool is last-in, first-out, so that a replica keeps its thread.
class BorrowedThreads {
 public:
  explicit BorrowedThreads(size_t count) {
    const std::lock_guard lock(idle().mutex);
    std::vector<PooledThread*>& threads = idle().threads;
    while (threads.size() < count) threads.push_back(new PooledThread);
    threads_.assign(threads.rbegin(), threads.rbegin() + static_cast<std::ptrdiff_t>(count));
    threads.resize(threads.size() - count);
  }
  ~BorrowedThreads() {
    const std::lock_guard lock(idle().mutex);
    idle().threads.insert(idle().threads.end(), threads_.rbegin(), threads_.rend());
  }
  BorrowedThreads(const BorrowedThreads&) = delete;
  BorrowedThreads& operator=(const BorrowedThreads&) = delete;

  PooledThread& operator[](size_t index) { return *threads_[index]; }

 private:
  struct Idle {
    std::mutex mutex;
    std::vector<PooledThread*> threads;
  };
  // Never destroyed: a process may end while its threads sleep, or inside one of them.
  static Idle& idle() {
    static Idle* const all = new Idle;
    return *all;
  }
  std::vector<PooledThread*> threads_;
};

/// The thread state that a task inherits from the calling thread.
class CallerThreadState {
 public:
  explicit CallerThreadState(const std::vector<c10::Device>& devices)
      : autocast_cache_(at::autocast::is_autocast_cache_enabled()) {
    add_autocast(c10::kCPU);
    for (const c10::Device device : devices) {
      add_autocast(device.type());
      streams_.push_back(device.is_cpu() ? std::optional<c10::Stream>()
                                         : c10::impl::VirtualGuardImpl(device.type()).getStream(device));
    }
  }

  /// Runs `task(replica)` with the caller's state on this thread.
  void run(const std::function<void(size_t)>& task, size_t replica) const {
    const at::ThreadLocalStateGuard guard(state_);
    // LibTorch 2.6's thread state lacks autocast's dtypes and cache flag. These threads run nothing else, so the
    // settings need not be restored.
    for (const auto& [type, dtype] : autocast_) at::autocast::set_autocast_dtype(type, dtype);
    at::autocast::set_autocast_cache_enabled(autocast_cache_);
    run_on_stream(task, replica);
  }

  /// Runs `task(replica)` on its device and the caller's stream there.
  void run_on_stream(const std::function<void(size_t)>& task, size_t replica) const {
    const c10::OptionalStreamGuard guard(streams_[replica]);
    task(replica);
  }

 private:
  void add_autocast(c10::DeviceType type) {
    if (std::ranges::count(autocast_, type, &std::pair<c10::DeviceType, at::ScalarType>::first)) return;
    autocast_.emplace_back(type, at::autocast::get_autocast_dtype(type));
  }

  at::ThreadLocalState state_;
  std::vector<std::pair<c10::DeviceType, at::ScalarType>> autocast_;
  bool autocast_cache_;
  std::vector<std::optional<c10::Stream>> streams_;
};

[[noreturn]] void rethrow_named(const std::exception_ptr& exception, size_t replica, c10::Device device) {
  const std::string where = c10::str("replica ", replica, " (", device, "): ");
  try {
    std::rethrow_exception(exception);
  } catch (const UsageError& error) {
    std::throw_with_nested(UsageError(where, error.what()));
  } catch (const c10::Error& error) {
    std::throw_with_nested(Error(where, error.what_without_backtrace()));
  } catch (const std::exception& error) {
    std::throw_with_nested(Error(where, error.what()));
  } catch (...) {
    std::throw_with_nested(Error(where, "an exception of an unknown class"));
  }
}

}  // namespace

void run_replicas(const std::vector<c10::Device>& devices, const std::function<void(size_t)>& task, bool in_order) {
  const size_t count = devices.size();
  const CallerThreadState caller(devices);
  std::vector<std::exception_ptr> exceptions(count);
  const auto keep_exception = [&](size_t replica, const auto& run) {
    try {
      run();
    } catch (...) {
      exceptions[replica] = std::current_exception();
    }
  };

  if (in_order || count < 2) {
    for (size_t i = 0; i < count; ++i) keep_exception(i, [&] { caller.run_on_stream(task, i); });
  } else {
    const int share = std::max(1, at::get_num_threads() / static_cast<int>(count));
    std::vector<std::function<void()>> jobs;
    for (size_t i = 1; i < count; ++i)
      jobs.emplace_back([&, i] {
        const ComputeThreadsGuard threads(share);
        keep_exception(i, [&] { caller.run(task, i); });
      });
    BorrowedThreads threads(jobs.size());
    for (size_t i = 0; i < jobs.size(); ++i) threads[i].start(jobs[i]);
    keep_exception(0, [&] {
      // If the CPU only launches kernels, the caller's thread count is unchanged.
      std::optional<ComputeThreadsGuard> mine;
      if (devices[0].is_cpu()) mine.emplace(share);
      caller.run_on_stream(task, 0);
    });
    for (size_t i = 0; i < jobs.size(); ++i) threads[i].wait();
  }

  for (size_t i = 0; i < count; ++i)
    if (exceptions[i]) rethrow_named(exceptions[i], i, devices[i]);
}

}  // namespace levin::parallel
