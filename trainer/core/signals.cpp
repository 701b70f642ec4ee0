#include <levin/trainer/core/signals.h>
#include <signal.h>

#include <atomic>

namespace levin {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
std::atomic<int> received{0};
struct sigaction handlers_before[2];
static_assert(std::atomic<int>::is_always_lock_free);  // a handler may touch nothing else

void note(int signal_number) {
  if (received.exchange(signal_number) == 0) return;
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

}  // namespace

SignalGuard::SignalGuard() {
  received = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &action, &handlers_before[i]);
}

SignalGuard::~SignalGuard() {
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &handlers_before[i], nullptr);
}

int received_signal() { return received; }

}  // namespace levin
