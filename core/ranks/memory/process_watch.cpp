#include <levin/core/ranks/memory/process_watch.h>
#include <levin/core/system/error.h>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <utility>

namespace levin {

ProcessWatch::ProcessWatch(int64_t process) : descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {
  if (descriptor_ < 0) throw Error("process ", process, ": ", std::strerror(errno));
}

ProcessWatch::~ProcessWatch() {
  if (descriptor_ >= 0) close(descriptor_);
}

ProcessWatch::ProcessWatch(ProcessWatch&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

bool ProcessWatch::has_ended() const {
  pollfd one{descriptor_, POLLIN, 0};
  return poll(&one, 1, 0) > 0;
}

}  // namespace levin
