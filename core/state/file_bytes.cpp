#include <levin/core/state/file_bytes.h>
#include <levin/core/state/unread_file_error.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace levin {
namespace {

[[noreturn]] void fail(const std::string& name, const char* what, int error) {
  const std::string reason = std::generic_category().message(error);
  if (is_of_system(error)) throw UnreadFileError(name, what, reason);
  throw UsageError(name, what, reason);
}

/// A file descriptor that is closed at the end of the scope.
struct OpenFile {
  explicit OpenFile(const std::filesystem::path& path)
      // Without O_NONBLOCK, opening a FIFO would wait for its writer.
      : descriptor(open_file(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  const int descriptor;
};

void check_opened(const OpenFile& file, const std::string& name) {
  if (file.descriptor >= 0) return;
  if (errno == ENOENT) throw UsageError(name, ": there is no such file");
  fail(name, ": cannot be opened: ", errno);
}

}  // namespace

FileBytes map_file_bytes(const std::filesystem::path& path) {
  const std::string name = path.string();
  const OpenFile file(path);
  check_opened(file, name);
  struct stat about = {};
  if (::fstat(file.descriptor, &about) != 0) fail(name, ": cannot be read: ", errno);
  if (S_ISDIR(about.st_mode)) throw UsageError(name, ": a file was expected, this is a folder");
  if (!S_ISREG(about.st_mode)) throw UsageError(name, ": a plain file was expected; copy it to one");
  FileBytes bytes{name};
  if (about.st_size == 0) return bytes;
  bytes.size = static_cast<size_t>(about.st_size);
  // MAP_NORESERVE: the system reserves no swap space for pages that are never written.
  void* start = ::mmap(nullptr, bytes.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.descriptor, 0);
  if (start == MAP_FAILED) fail(name, ": cannot be mapped into memory: ", errno);
  bytes.owner = std::shared_ptr<void>(start, [size = bytes.size](void* mapped) { ::munmap(mapped, size); });
  bytes.data = static_cast<char*>(start);
  return bytes;
}

bool file_has_bytes(const std::filesystem::path& path, uint64_t first, std::string_view bytes) {
  constexpr size_t kPiece = size_t{1} << 20;
  const std::string name = path.string();
  const OpenFile file(path);
  check_opened(file, name);
  std::string piece(std::min(kPiece, bytes.size()), '\0');
  for (size_t done = 0; done < bytes.size();) {
    const size_t wanted = std::min(kPiece, bytes.size() - done);
    const ssize_t got = ::pread(file.descriptor, piece.data(), wanted, static_cast<off_t>(first + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(name, ": cannot be read: ", errno);
    const auto read = static_cast<size_t>(got);
    if (read == 0 || std::memcmp(piece.data(), bytes.data() + done, read) != 0) return false;
    done += read;
  }
  return true;
}

FileBytes copy_file_bytes(std::string_view bytes, std::string name) {
  auto copy = std::make_shared<std::string>(bytes);
  return {std::move(name), copy, copy->data(), copy->size()};
}

}  // namespace levin
