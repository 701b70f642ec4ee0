#include <levin/core/system/signals.h>
#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace levin {
namespace {

// A handler may only use lock-free atomics.
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);
constexpr size_t kSignals = 64;
std::array<std::atomic<int>, kSignals> actions{};  // SignalAction of each signal
std::atomic<int> received{0};
std::atomic<int> save_asked{0};
// The end of a job is signalled to all of its processes, and a launcher forwards it: one request arrives twice.
std::atomic<bool> asked_by_parent{false}, asked_by_others{false};
std::array<struct sigaction, kSignals> handlers_before{};
std::atomic<bool> held{false};
std::atomic<int> released{0};       // instead of `received`, while signals are held back
std::atomic<int> released_save{0};  // instead of `save_asked`

SignalAction action_of(int signal_number) {
  return static_cast<SignalAction>(actions[static_cast<size_t>(signal_number)].load());
}

void note(int signal_number, siginfo_t* info, void* /*context*/) {
  switch (action_of(signal_number)) {
    case SignalAction::Ignore:
      return;
    case SignalAction::Save:
      save_asked = 1;
      return;
    default:
      const bool from_parent = info->si_code == SI_USER && info->si_pid == ::getppid();
      const bool again = (from_parent ? asked_by_parent : asked_by_others).exchange(true);
      if (int none = 0; received.compare_exchange_strong(none, signal_number) || !again) return;
      signal(signal_number, SIG_DFL);
      raise(signal_number);
  }
}

void write_stack(int /*signal_number*/) {
  const int error = errno;
  constexpr std::string_view kHead = "levin: this process was asked where it is:\n";
  if (::write(STDERR_FILENO, kHead.data(), kHead.size()) > 0) {
    void* frames[14];  // the innermost frames: with the line above, as many lines as a supervisor shows of a rank
    ::backtrace_symbols_fd(frames, ::backtrace(frames, std::size(frames)), STDERR_FILENO);
  }
  errno = error;
}

}  // namespace

bool is_ignored(int signal_number) {
  struct sigaction present = {};
  return sigaction(signal_number, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
}

SignalGuard::SignalGuard(std::vector<std::pair<int, SignalAction>> wanted) : actions_(std::move(wanted)) {
  std::erase_if(actions_, [](const auto& one) { return is_ignored(one.first); });
  received = save_asked = 0;
  asked_by_parent = asked_by_others = false;
  struct sigaction handler = {};
  handler.sa_sigaction = note;
  handler.sa_flags = SA_RESTART | SA_SIGINFO;
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

int received_signal() { return held ? released : received; }

bool requeue_is_asked() {
  const int number = received_signal();
  return number != 0 && action_of(number) == SignalAction::Requeue;
}

bool take_save_signal() {
  std::atomic<int>& asked = held ? released_save : save_asked;
  return asked != 0 && asked.exchange(0) != 0;
}

SignalHold::SignalHold() {
  released = released_save = 0;
  held = true;
}

SignalHold::~SignalHold() {
  // The stop that this rank reports later is the one that all ranks agreed on.
  if (released != 0) received = released.load();
  held = false;
}

uint64_t held_signals() {
  const uint64_t save = save_asked.exchange(0) != 0;
  return save | (received != 0 ? uint64_t{1} << received : 0);
}

void release_signals(uint64_t bits) {
  if (bits & 1) released_save = 1;
  for (int number = 1; number < static_cast<int>(kSignals) && released == 0; ++number)
    if ((bits >> number) & 1) released = number;
}

void write_stack_on(int signal_number) {
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads a library that it needs, which a handler must not do
  struct sigaction handler = {};
  handler.sa_handler = write_stack;
  handler.sa_flags = SA_RESTART;
  ::sigaction(signal_number, &handler, nullptr);
}

std::string signal_name(int signal_number) {
  const char* name = sigabbrev_np(signal_number);
  return name == nullptr ? "signal " + std::to_string(signal_number) : std::string("SIG") + name;
}

}  // namespace levin
