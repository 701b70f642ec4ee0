#pragma once
#include <levin/core/run/metrics.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// The position of a session after its newest step.
struct SessionState {
  int64_t epoch = 0;        ///< finished epochs
  int64_t global_step = 0;  ///< optimizer steps
  int64_t batches = 0;      ///< batches trained
  int64_t samples = 0;      ///< samples trained
  double seconds = 0;       ///< over all sessions of the run
  Metrics metrics = {};     ///< the latest value of every logged metric, as of the last log point
  bool is_paused = false;
  bool is_over = false;  ///< a limit is reached, or a request to stop was followed
};

/// What other threads ask of the thread that trains, and what that thread tells them. All functions may be called from
/// any thread.
class SessionControl {
 public:
  /// Requests that wait for the training thread.
  struct Requests {
    std::optional<std::string> stop = {};  ///< the first reason
    std::vector<std::filesystem::path> saves = {};
  };

  void request_stop(const std::string& reason);
  void request_save(std::filesystem::path path);
  void pause();
  void resume();
  /// Returns a copy of the newest state.
  SessionState state() const;
  bool has_requests() const { return has_requests_.load(std::memory_order_acquire); }
  bool is_paused() const { return is_paused_.load(std::memory_order_acquire); }

  /// Returns the requests and forgets them.
  Requests take_requests();
  /// Returns once the session is not paused, or a stop was requested.
  void wait_while_paused();
  /// Sets the state that `state` returns; `metrics` null: they have not changed.
  void publish(const SessionState& counters, const Metrics* metrics);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> has_requests_ = false, is_paused_ = false;
  Requests requests_ = {};
  SessionState state_ = {};
};

}  // namespace levin
