#include <levin/core/ranks/bounded_call.h>
#include <levin/core/system/start_thread.h>

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

namespace levin {
namespace {

struct Outcome {
  std::mutex mutex;
  std::condition_variable changed;
  bool has_ended = false;
  std::exception_ptr error;
};

}  // namespace

bool ends_within(std::chrono::milliseconds limit, std::function<void()> call) {
  const auto outcome = std::make_shared<Outcome>();
  start_thread("a call to another machine", [outcome, call = std::move(call)] {
    std::exception_ptr error;
    try {
      call();
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(outcome->mutex);
    outcome->error = error;
    outcome->has_ended = true;
    outcome->changed.notify_all();
  }).detach();
  std::unique_lock lock(outcome->mutex);
  if (!outcome->changed.wait_for(lock, limit, [&] { return outcome->has_ended; })) return false;
  if (outcome->error) std::rethrow_exception(outcome->error);
  return true;
}

}  // namespace levin
