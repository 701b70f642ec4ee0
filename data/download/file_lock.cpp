#include <levin/data/download/file_lock.h>
#include <fcntl.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace levin::data {

FileLock::FileLock(std::filesystem::path path, const std::string& purpose) : path_(std::move(path)) {
  // The previous owner of the lock may have renamed or removed the file after it was opened here.
  while (!open(purpose)) ::close(std::exchange(descriptor_, -1));
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool FileLock::open(const std::string& purpose) {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw UsageError(path_.string(), ": cannot be written: ", std::strerror(errno));
  try {
    lock(purpose);
  } catch (...) {
    ::close(std::exchange(descriptor_, -1));
    throw;
  }
  struct stat held = {}, there = {};
  if (::fstat(descriptor_, &held) != 0 || ::stat(path_.c_str(), &there) != 0) return false;
  return held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

void FileLock::lock(const std::string& purpose) const {
  constexpr auto kPause = std::chrono::milliseconds(100);
  for (bool told = false; ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0;) {
    // Some network mounts have no locks: then two processes may do the same work.
    if (errno != EWOULDBLOCK && errno != EINTR) return;
    if (!told) console::info("waiting for another process that " + purpose);
    told = true;
    if (received_signal() != 0) throw Error("a signal ended the wait for another process that ", purpose);
    std::this_thread::sleep_for(kPause);
  }
}

void FileLock::remove() const {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace levin::data
