#include <levin/data/download/part_file.h>
#include <fcntl.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

fs::path part_of(fs::path target) { return target += ".part"; }

/// Syncs a folder, so that a rename survives a power failure; a folder that cannot be synced is skipped.
void sync_folder(const fs::path& folder) {
  const int descriptor = open_file(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  sync_file(descriptor);
  ::close(descriptor);
}

}  // namespace

PartFile::PartFile(const fs::path& target)
    : target_(target),
      file_(part_of(target), "downloads " + target.string()),
      size_(static_cast<int64_t>(fs::file_size(file_.path()))) {}

void PartFile::append(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(file_.descriptor(), next, std::min<size_t>(bytes, 1 << 30), size_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot be written");
    next += written;
    bytes -= static_cast<size_t>(written);
    size_ += written;
  }
}

void PartFile::clear() {
  if (::ftruncate(file_.descriptor(), 0) != 0) fail("cannot be cleared");
  size_ = 0;
}

void PartFile::commit() {
  errno = sync_file(file_.descriptor());
  if (errno != 0) fail("cannot be written");
  if (::rename(path().c_str(), target_.c_str()) != 0) fail("cannot be renamed");
  sync_folder(target_.parent_path());
}

void PartFile::fail(const char* what) const { throw Error(path().string(), ": ", what, ": ", std::strerror(errno)); }

}  // namespace levin::data
