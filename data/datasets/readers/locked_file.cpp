#include <levin/data/datasets/readers/locked_file.h>
#include <fcntl.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace levin::data {
namespace {

/// Locks an open file; false if another holds the lock.
bool lock_file(int descriptor, const LockedFile::Options& options) {
  const int kind = options.kind == LockedFile::Kind::Shared ? LOCK_SH : LOCK_EX;
  int code = 0;
  do code = ::flock(descriptor, options.waits ? kind : kind | LOCK_NB);
  while (code != 0 && errno == EINTR);
  return code == 0 || errno != EWOULDBLOCK;
}

/// Returns whether the file has not been renamed, removed or replaced since it was opened.
bool lies_at(int descriptor, const std::filesystem::path& path) {
  struct stat held = {}, there = {};
  return ::fstat(descriptor, &held) == 0 && ::stat(path.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

}  // namespace

std::optional<LockedFile> LockedFile::open(const std::filesystem::path& path, Options options) {
  const int flags = O_CLOEXEC | O_NONBLOCK | (options.makes ? O_RDWR | O_CREAT : O_RDONLY);
  while (true) {
    LockedFile file(open_file(path.c_str(), flags, 0666));
    if (file.descriptor_ < 0 && errno == ENOENT && !options.makes) return {};
    if (file.descriptor_ < 0) throw UsageError(path.string(), ": cannot be opened: ", std::strerror(errno));
    if (!lock_file(file.descriptor_, options)) return {};
    if (lies_at(file.descriptor_, path)) return file;
  }
}

LockedFile::~LockedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace levin::data
