#include <levin/data/part_file.h>
#include <fcntl.h>
#include <levin/trainer/core/console.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/signals.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// Makes a rename last through a power cut; a folder that cannot be synced is left.
void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

PartFile::PartFile(const fs::path& target) : target_(target), path_(target) {
  path_ += ".part";
  // The one who had the lock may have renamed or removed the file since it was opened.
  while (!open()) ::close(std::exchange(descriptor_, -1));
}

PartFile::~PartFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool PartFile::open() {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    throw UsageError(target_.string(), ": cannot be downloaded into ", folder_of(target_).string(), ": ",
                     std::strerror(errno));
  }
  try {
    lock();
  } catch (...) {
    ::close(std::exchange(descriptor_, -1));
    throw;
  }
  struct stat held = {}, there = {};
  if (::fstat(descriptor_, &held) != 0 || ::stat(path_.c_str(), &there) != 0) return false;
  size_ = held.st_size;
  return held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

void PartFile::lock() const {
  constexpr auto kPause = std::chrono::milliseconds(100);
  for (bool told = false; ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0;) {
    // Some network mounts have no locks: then two may write the same bytes to the same places.
    if (errno != EWOULDBLOCK && errno != EINTR) return;
    if (!told) console::info("waiting for another process that downloads " + target_.string());
    told = true;
    if (received_signal() != 0) throw Error(target_.string(), ": a signal ended the wait for another download of it");
    std::this_thread::sleep_for(kPause);
  }
}

void PartFile::append(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(descriptor_, next, std::min<size_t>(bytes, 1 << 30), size_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    next += written;
    bytes -= static_cast<size_t>(written);
    size_ += written;
  }
}

void PartFile::clear() {
  if (::ftruncate(descriptor_, 0) != 0) fail("cannot be cleared");
  size_ = 0;
}

void PartFile::commit() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail("cannot be written");
  if (::rename(path_.c_str(), target_.c_str()) != 0) fail("cannot be renamed");
  sync_folder(folder_of(target_));
}

void PartFile::remove() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

void PartFile::fail(const char* what) const { throw Error(path_.string(), ": ", what, ": ", std::strerror(errno)); }

}  // namespace levin::data
