#pragma once
#include <signal.h>

#include <mutex>

namespace levin {

/// While one of these lives, the process ignores SIGPIPE, unless the program has a handler of its own. Threads of c10d
/// and Gloo write to sockets: if the peer has left, the write then fails, and does not end the process.
class IgnoredPipeSignal {
 public:
  IgnoredPipeSignal() {
    const std::lock_guard lock(shared().mutex);
    if (shared().count++ > 0) return;
    struct sigaction now = {};
    ::sigaction(SIGPIPE, nullptr, &now);
    shared().was_default = now.sa_handler == SIG_DFL;
    if (shared().was_default) ::signal(SIGPIPE, SIG_IGN);
  }
  ~IgnoredPipeSignal() {
    const std::lock_guard lock(shared().mutex);
    if (--shared().count > 0 || !shared().was_default) return;
    struct sigaction now = {};
    ::sigaction(SIGPIPE, nullptr, &now);
    if (now.sa_handler == SIG_IGN) ::signal(SIGPIPE, SIG_DFL);
  }
  IgnoredPipeSignal(const IgnoredPipeSignal&) = delete;
  IgnoredPipeSignal& operator=(const IgnoredPipeSignal&) = delete;

 private:
  struct Shared {
    std::mutex mutex;
    int count = 0;
    bool was_default = false;
  };
  static Shared& shared() {
    static Shared shared;
    return shared;
  }
};

}  // namespace levin
