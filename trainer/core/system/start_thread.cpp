#include <levin/trainer/core/system/start_thread.h>
#include <levin/trainer/core/system/error.h>

#include <system_error>
#include <utility>

namespace levin {

std::thread start_thread(const char* purpose, std::function<void()> function) {
  try {
    return std::thread(std::move(function));
  } catch (const std::system_error& error) {
    throw Error("no thread for ", purpose, " can be started: ", error.code().message(),
                "; this user, container or machine may have no more processes and threads (ulimit -u, pids.max)");
  }
}

}  // namespace levin
