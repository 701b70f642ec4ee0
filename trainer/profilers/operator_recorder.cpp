#include <levin/trainer/profilers/operator_recorder.h>
#include <ATen/record_function.h>
#include <levin/trainer/profilers/steady_clock.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace levin {
namespace {

/// What the callbacks write to. It outlives every thread, since an operator may end after its recorder.
struct Recording {
  std::mutex mutex = {};
  bool is_on = false;
  std::vector<OperatorEvent> events = {};
};

Recording& recording() {
  static auto* const made = new Recording;
  return *made;
}

/// Kept for threads that have ended, whose events are there.
struct ThreadNames {
  std::mutex mutex = {};
  std::map<int, std::string> by_number = {};
};

ThreadNames& thread_names() {
  static auto* const made = new ThreadNames;
  return *made;
}

struct BegunOperator : at::ObserverContext {
  int64_t began = steady_nanoseconds();
};

std::unique_ptr<at::ObserverContext> recorded_begins(const at::RecordFunction& /*operation*/) {
  return std::make_unique<BegunOperator>();
}

void recorded_ends(const at::RecordFunction& operation, at::ObserverContext* context) {
  const int64_t ended = steady_nanoseconds();
  if (context == nullptr) return;
  OperatorEvent event{.name = operation.name(),
                      .is_scope = operation.scope() == at::RecordScope::USER_SCOPE,
                      .thread = number_of_thread(),
                      .began = static_cast<const BegunOperator*>(context)->began,
                      .ended = ended};
  const std::lock_guard lock(recording().mutex);
  if (recording().is_on) recording().events.push_back(std::move(event));
}

}  // namespace

OperatorRecorder::OperatorRecorder() {
  {
    const std::lock_guard lock(recording().mutex);
    recording_ = !std::exchange(recording().is_on, true);
  }
  if (!recording_) return;
  handle_ = at::addGlobalCallback(
      at::RecordFunctionCallback(&recorded_begins, &recorded_ends)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
}

OperatorRecorder::~OperatorRecorder() {
  if (!recording_) return;
  at::removeCallback(handle_);
  const std::lock_guard lock(recording().mutex);
  recording().is_on = false;
  recording().events = {};
}

std::vector<OperatorEvent> OperatorRecorder::take() {
  if (!recording_) return {};
  const std::lock_guard lock(recording().mutex);
  return std::exchange(recording().events, {});
}

int number_of_thread() {
  static thread_local const int number = [] {
    const auto own = static_cast<int>(::syscall(SYS_gettid));
    char name[32] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    const std::lock_guard lock(thread_names().mutex);
    thread_names().by_number[own] = name;
    return own;
  }();
  return number;
}

std::string name_of_thread(int number) {
  const std::lock_guard lock(thread_names().mutex);
  const auto found = thread_names().by_number.find(number);
  return found == thread_names().by_number.end() ? std::string() : found->second;
}

}  // namespace levin
