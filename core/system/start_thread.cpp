#include <levin/core/system/start_thread.h>
#include <levin/core/system/error.h>

#include <atomic>
#include <system_error>
#include <utility>
#include <vector>

namespace levin {
namespace {

/// Threads that wait until the object ends.
class WaitingThreads {
 public:
  WaitingThreads(const char* purpose, int64_t count) {
    try {
      for (int64_t i = 0; i < count; ++i) threads_.push_back(start_thread(purpose, [this] { ends_.wait(false); }));
    } catch (...) {
      end();
      throw;
    }
  }
  ~WaitingThreads() { end(); }
  WaitingThreads(const WaitingThreads&) = delete;
  WaitingThreads& operator=(const WaitingThreads&) = delete;

 private:
  void end() {
    ends_ = true;
    ends_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::atomic<bool> ends_ = false;
  std::vector<std::thread> threads_ = {};
};

}  // namespace

std::thread start_thread(const char* purpose, std::function<void()> function) {
  try {
    return std::thread(std::move(function));
  } catch (const std::system_error& error) {
    throw Error("no thread for ", purpose, " can be started: ", error.code().message(),
                "; this user, container or machine may have no more processes and threads (ulimit -u, pids.max)");
  }
}

void require_threads(const char* purpose, int64_t count) { const WaitingThreads threads(purpose, count); }

bool can_start_threads(int64_t count) {
  try {
    require_threads("", count);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace levin
