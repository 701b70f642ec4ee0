#include <levin/trainer/loggers/background_tasks.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

namespace levin {

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
  // Signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([shared = shared_] { run(shared); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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

bool BackgroundTasks::wait(double seconds) const {
  std::unique_lock lock(shared_->mutex);
  return shared_->done.wait_for(lock, std::chrono::duration<double>(seconds),
                                [&] { return shared_->waiting.empty() && !shared_->is_busy; });
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
