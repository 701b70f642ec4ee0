#pragma once

namespace levin {

/// While it lives, SIGINT and SIGTERM are noted instead of ending the process; the second of them ends it at once.
/// The handlers that were there before come back with its destruction. Only the program installs it.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
};

/// The signal that came since the guard was made; 0 without one.
int received_signal();

}  // namespace levin
