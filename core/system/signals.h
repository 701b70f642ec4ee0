#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// The action that a signal requests.
enum class SignalAction {
  Ignore,
  Save,     ///< save a checkpoint and continue
  Stop,     ///< finish the step, save a checkpoint and end
  Requeue,  ///< like Stop, and return the job to the scheduler's queue
};

/// Returns whether this process ignores the signal, as processes started by nohup or in a shell's background do.
bool is_ignored(int signal_number);

/// A guard that records these signals instead of letting them end the process; the second request to stop ends the
/// process at once. A signal from the parent process and one from another process count as the same request, since a
/// scheduler signals all processes of a job and a launcher forwards its signals to its ranks. A signal that is ignored
/// stays ignored. The destructor restores the previous handlers. Only the program installs it.
class SignalGuard {
 public:
  explicit SignalGuard(std::vector<std::pair<int, SignalAction>> actions);
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  std::vector<std::pair<int, SignalAction>> actions_;
};

/// Returns the signal that asked the run to end since the guard was made; 0 if there is none.
int received_signal();
/// Returns whether that signal asks for the job to be requeued.
bool requeue_is_asked();
/// Returns whether a signal has asked for a checkpoint since the last call.
bool take_save_signal();
/// While it lives, requests by signals are held back: the functions above report only what was passed to
/// `release_signals`. So the ranks of a run, which receive signals at different times, act on them at the same place.
class SignalHold {
 public:
  SignalHold();
  ~SignalHold();
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;
};

/// Returns the requests held back: bit n for a signal n that asks the run to end, bit 0 for a save, which is cleared.
uint64_t held_signals();
/// Makes these requests, combined over all ranks, visible.
void release_signals(uint64_t bits);

/// Installs a handler for this signal that writes the call stack of the interrupted thread to stderr and continues.
void write_stack_on(int signal_number);

/// Returns the name of a signal: "SIGTERM".
std::string signal_name(int signal_number);

}  // namespace levin
