#include <levin/trainer/core/signals.h>
#include <signal.h>

#include <array>
#include <atomic>

namespace levin {
namespace {

// A handler may touch nothing but lock-free atomics.
static_assert(std::atomic<int>::is_always_lock_free);
constexpr size_t kSignals = 64;
std::array<std::atomic<int>, kSignals> actions{};  // SignalAction of each signal
std::atomic<int> received{0};
std::atomic<int> save_asked{0};
std::array<struct sigaction, kSignals> handlers_before{};

SignalAction action_of(int signal_number) {
  return static_cast<SignalAction>(actions[static_cast<size_t>(signal_number)].load());
}

void note(int signal_number) {
  switch (action_of(signal_number)) {
    case SignalAction::Ignore:
      return;
    case SignalAction::Save:
      save_asked = 1;
      return;
    default:
      if (received.exchange(signal_number) == 0) return;
      signal(signal_number, SIG_DFL);
      raise(signal_number);
  }
}

}  // namespace

SignalGuard::SignalGuard(std::vector<std::pair<int, SignalAction>> wanted) : actions_(std::move(wanted)) {
  received = save_asked = 0;
  struct sigaction handler = {};
  handler.sa_handler = note;
  handler.sa_flags = SA_RESTART;
  sigemptyset(&handler.sa_mask);
  for (const auto& [number, action] : actions_) {
    const auto index = static_cast<size_t>(number);
    actions[index] = static_cast<int>(action);
    sigaction(number, &handler, &handlers_before[index]);
  }
}

SignalGuard::~SignalGuard() {
  for (const auto& [number, action] : actions_)
    sigaction(number, &handlers_before[static_cast<size_t>(number)], nullptr);
}

int received_signal() { return received; }

bool requeue_is_asked() { return received != 0 && action_of(received) == SignalAction::Requeue; }

bool take_save_signal() { return save_asked != 0 && save_asked.exchange(0) != 0; }

std::string signal_name(int signal_number) {
  const char* name = sigabbrev_np(signal_number);
  return name == nullptr ? "signal " + std::to_string(signal_number) : std::string("SIG") + name;
}

}  // namespace levin
