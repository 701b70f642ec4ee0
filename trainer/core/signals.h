#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin {

/// What a signal asks of a run.
enum class SignalAction {
  Ignore,
  Save,     ///< save a checkpoint, and go on
  Stop,     ///< finish the step, save a checkpoint and end
  Requeue,  ///< the same, and give the job back to the scheduler's queue
};

/// Whether this process ignores the signal, as those do that nohup or a shell's background started.
bool is_ignored(int signal_number);

/// While it lives, these signals are noted instead of ending the process; the second that asks to stop ends it at once.
/// One that the parent process sends and one that another sends count as the same request: a scheduler signals all
/// processes of a job, and a launcher hands on to its ranks what it gets. A signal that is ignored stays ignored. The
/// handlers that were there before come back with its destruction. Only the program installs it.
class SignalGuard {
 public:
  explicit SignalGuard(std::vector<std::pair<int, SignalAction>> actions);
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  std::vector<std::pair<int, SignalAction>> actions_;
};

/// The signal that asked the run to end since the guard was made; 0 without one.
int received_signal();
/// Whether that signal asks for the job to be queued again.
bool requeue_is_asked();
/// Whether a signal has asked for a checkpoint since the last call.
bool take_save_signal();
/// While it lives, what signals ask for is held back: the functions above tell only what `release_signals` was given,
/// so that the ranks of a run, to whom signals come at different times, act on them at the same place.
class SignalHold {
 public:
  SignalHold();
  ~SignalHold();
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;
};

/// What is held back: bit n for a signal n that asks the run to end, bit 0 for a save, which is then no longer held.
uint64_t held_signals();
/// Lets such bits, of all ranks, be seen.
void release_signals(uint64_t bits);

/// From here on this signal lets the process write to stderr which functions the thread that it interrupts is in, and
/// go on.
void write_stack_on(int signal_number);

/// "SIGTERM".
std::string signal_name(int signal_number);

}  // namespace levin
