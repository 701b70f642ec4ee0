#include <levin/core/system/file_calls.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace levin {

int open_file(const char* path, int flags, ::mode_t mode) {
  int descriptor = -1;
  do descriptor = ::open(path, flags, mode);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

int write_all(int descriptor, const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    // Linux writes at most 2 GiB at once.
    const ssize_t written = ::write(descriptor, next, std::min<size_t>(bytes, 1 << 30));
    if (written < 0 && errno != EINTR) return errno;
    if (written <= 0) continue;
    next += written;
    bytes -= static_cast<size_t>(written);
  }
  return 0;
}

int read_file(const std::filesystem::path& path, std::string& text) {
  text.clear();
  // Without O_NONBLOCK, opening a FIFO would wait for its writer.
  const int descriptor = open_file(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return errno;
  struct stat about = {};
  std::array<char, 1 << 14> some = {};
  int error = ::fstat(descriptor, &about) != 0 ? errno : S_ISREG(about.st_mode) ? 0 : EINVAL;
  for (bool ends = false; error == 0 && !ends;) {
    const ssize_t got = ::read(descriptor, some.data(), some.size());
    if (got > 0) text.append(some.data(), static_cast<size_t>(got));
    if (got < 0 && errno != EINTR) error = errno;
    ends = got == 0;
  }
  ::close(descriptor);
  return error;
}

bool is_of_system(int error) {
  return error == EIO || error == EMFILE || error == ENFILE || error == ENOMEM || error == ESTALE;
}

int sync_file(int descriptor) {
  while (::fsync(descriptor) != 0)
    if (errno != EINTR) return errno == EINVAL ? 0 : errno;
  return 0;
}

}  // namespace levin
