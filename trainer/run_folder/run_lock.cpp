#include <levin/trainer/run_folder/run_lock.h>
#include <fcntl.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/core/system/host_name.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>
#include <thread>
#include <utility>

namespace levin {
namespace fs = std::filesystem;
namespace {

// Retries, because `holder` takes the lock for a moment.
constexpr int kTries = 20;
constexpr auto kPause = std::chrono::milliseconds(10);

std::string describe_this_process() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  ::gmtime_r(&now, &utc);
  char time[32] = {};
  std::strftime(time, sizeof(time), "%Y-%m-%d %H:%M:%S", &utc);
  return c10::str("process ", ::getpid(), " on ", host_name(), ", since ", time, " UTC");
}

std::string read_holder(int descriptor) {
  std::array<char, 512> text = {};
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  return size > 0 ? std::string(text.data(), static_cast<size_t>(size)) : "another process";
}

/// Tries to lock and returns the errno; 0 on success.
int try_lock(int descriptor, int how) {
  while (::flock(descriptor, how | LOCK_NB) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

}  // namespace

RunLock::RunLock(const fs::path& run_folder) {
  const fs::path file = run_folder / kFile;
  descriptor_ = open_file(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) throw UsageError(file.string(), ": cannot be written: ", std::generic_category().message(errno));
  int error = try_lock(descriptor_, LOCK_EX);
  for (int i = 0; error == EWOULDBLOCK && i < kTries; ++i) {
    std::this_thread::sleep_for(kPause);
    error = try_lock(descriptor_, LOCK_EX);
  }
  if (error == EWOULDBLOCK) {
    const std::string holder = read_holder(descriptor_);
    release();
    throw UsageError("the run in ", run_folder.string(), " is being written by ", holder,
                     "; wait until it has ended, or begin a run of its own with the file of a checkpoint as ckpt_path");
  }
  if (error != 0)
    console::warn(c10::str(file.string(), ": the file system has no locks (", std::generic_category().message(error),
                           "); no other process may write to this run's folder"));
  const std::string holder = describe_this_process();
  if (::ftruncate(descriptor_, 0) != 0 || ::pwrite(descriptor_, holder.data(), holder.size(), 0) < 0) {
    // The text is only informational.
  }
}

RunLock::RunLock(RunLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void RunLock::release() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

std::optional<std::string> RunLock::holder(const fs::path& run_folder) {
  const int descriptor = open_file((run_folder / kFile).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return {};
  std::optional<std::string> found;
  if (try_lock(descriptor, LOCK_SH) == EWOULDBLOCK) found = read_holder(descriptor);
  ::close(descriptor);
  return found;
}

}  // namespace levin
