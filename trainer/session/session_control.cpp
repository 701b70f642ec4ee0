#include <levin/trainer/session/session_control.h>

namespace levin {

void SessionControl::request_stop(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!requests_.stop) requests_.stop = reason;
  has_requests_.store(true, std::memory_order_release);
  changed_.notify_all();
}

void SessionControl::request_save(std::filesystem::path path) {
  const std::lock_guard lock(mutex_);
  requests_.saves.push_back(std::move(path));
  has_requests_.store(true, std::memory_order_release);
}

void SessionControl::pause() {
  const std::lock_guard lock(mutex_);
  is_paused_.store(true, std::memory_order_release);
}

void SessionControl::resume() {
  const std::lock_guard lock(mutex_);
  is_paused_.store(false, std::memory_order_release);
  changed_.notify_all();
}

SessionState SessionControl::state() const {
  const std::lock_guard lock(mutex_);
  SessionState state = state_;
  state.is_paused = is_paused();
  return state;
}

SessionControl::Requests SessionControl::take_requests() {
  const std::lock_guard lock(mutex_);
  has_requests_.store(false, std::memory_order_release);
  return std::exchange(requests_, {});
}

void SessionControl::wait_while_paused() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !is_paused() || requests_.stop; });
}

void SessionControl::publish(const SessionState& counters, const Metrics* metrics) {
  const std::lock_guard lock(mutex_);
  state_.epoch = counters.epoch;
  state_.global_step = counters.global_step;
  state_.batches = counters.batches;
  state_.samples = counters.samples;
  state_.seconds = counters.seconds;
  state_.is_over = counters.is_over;
  if (metrics != nullptr) state_.metrics = *metrics;
}

}  // namespace levin
