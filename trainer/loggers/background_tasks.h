#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

namespace levin {

/// A thread that runs tasks one after another, for work that may wait for a network. At most a given number of tasks
/// wait; whoever adds one never does.
///
/// A task may throw: the exception is kept for `rethrow`. The destructor asks the current task to end, drops the
/// others, and waits for seconds; a thread that does not end by then is left alone, so tasks must own what they use.
class BackgroundTasks {
 public:
  explicit BackgroundTasks(size_t most_waiting);
  ~BackgroundTasks();
  BackgroundTasks(const BackgroundTasks&) = delete;
  BackgroundTasks& operator=(const BackgroundTasks&) = delete;

  /// Adds a task and returns true, or returns false if too many wait.
  bool add(std::function<void()> task);
  /// Waits at most `seconds` until all tasks have run, and returns whether they have. If a signal ends the run, it
  /// waits a few seconds at most.
  bool wait(double seconds) const;
  /// Returns whether a signal ends the run and the end has waited for a few seconds since `begin`: schedulers kill half
  /// a minute after their signal, and checkpoints come first.
  static bool is_late(std::chrono::steady_clock::time_point begin);
  /// Throws the first exception that a task has thrown since the last call.
  void rethrow();
  /// Becomes true when the current task should end.
  const std::atomic<bool>& stop() const;

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace levin
