#include <levin/trainer/loggers/background_tasks.h>
#include <levin/core/system/signals.h>
#include <levin/core/system/start_thread.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

namespace levin {

namespace {

/// Blocks all signals while it lives; a thread that starts meanwhile gets none.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_ = {};
};

}  // namespace

struct BackgroundTasks::Shared {
  const size_t most_waiting;
  std::mutex mutex = {};
  std::condition_variable added = {}, done = {};
  std::deque<std::function<void()>> waiting = {};
  bool is_busy = false, has_ended = false;
  std::exception_ptr failure = {};
  std::atomic<bool> stop = false;
};

BackgroundTasks::BackgroundTasks(size_t most_waiting) : shared_(new Shared{most_waiting}) {
  const BlockedSignals blocked;  // signals are for the program's own threads
  thread_ = start_thread("sending logs", [shared = shared_] { run(shared); });
}

BackgroundTasks::~BackgroundTasks() {
  constexpr auto kPatience = std::chrono::seconds(3);
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->waiting.clear();
  shared_->added.notify_all();
  const bool ended = shared_->done.wait_for(lock, kPatience, [&] { return shared_->has_ended; });
  lock.unlock();
  if (ended)
    thread_.join();
  else
    thread_.detach();
}

bool BackgroundTasks::add(std::function<void()> task) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->waiting.size() >= shared_->most_waiting) return false;
  shared_->waiting.push_back(std::move(task));
  shared_->added.notify_one();
  return true;
}

bool BackgroundTasks::is_late(std::chrono::steady_clock::time_point begin) {
  constexpr auto kAfterSignal = std::chrono::seconds(4);
  return received_signal() != 0 && std::chrono::steady_clock::now() - begin > kAfterSignal;
}

bool BackgroundTasks::wait(double seconds) const {
  constexpr auto kLook = std::chrono::milliseconds(100);
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  const auto end =
      begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
  std::unique_lock lock(shared_->mutex);
  const auto done = [&] { return shared_->waiting.empty() && !shared_->is_busy; };
  while (!shared_->done.wait_until(lock, std::min(std::chrono::steady_clock::now() + kLook, end), done))
    if (std::chrono::steady_clock::now() >= end || is_late(begin)) return false;
  return true;
}

void BackgroundTasks::rethrow() {
  std::unique_lock lock(shared_->mutex);
  if (const std::exception_ptr failure = std::exchange(shared_->failure, nullptr)) {
    lock.unlock();
    std::rethrow_exception(failure);
  }
}

const std::atomic<bool>& BackgroundTasks::stop() const { return shared_->stop; }

void BackgroundTasks::run(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->added.wait(lock, [&] { return shared->stop || !shared->waiting.empty(); });
    if (shared->stop) break;
    std::function<void()> task = std::move(shared->waiting.front());
    shared->waiting.pop_front();
    shared->is_busy = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      task();
    } catch (...) {
      failure = std::current_exception();
    }
    task = nullptr;
    lock.lock();
    if (failure && !shared->failure) shared->failure = failure;
    shared->is_busy = false;
    shared->done.notify_all();
  }
  shared->has_ended = true;
  shared->done.notify_all();
}

}  // namespace levin
