#include <levin/data/files/mapped_file.h>
#include <fcntl.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/remote/local_path.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace levin::data {
namespace {

/// An open file, closed at the end of the scope unless it is taken.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  int take() { return std::exchange(number_, -1); }

 private:
  int number_;
};

int advice(FileAccess access) {
  switch (access) {
    case FileAccess::Normal:
      return MADV_NORMAL;
    case FileAccess::Sequential:
      return MADV_SEQUENTIAL;
    case FileAccess::Random:
      return MADV_RANDOM;
  }
  return MADV_NORMAL;
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path, FileAccess access, const std::filesystem::path& shown)
    : path_(shown.empty() ? std::filesystem::path(shown_url(path.native())) : shown) {
  const std::string name = path_.string();
  // Without O_NONBLOCK, opening a FIFO would wait for its writer.
  Descriptor file(open_file(local_path(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) throw UsageError(name, ": cannot be opened: ", std::strerror(errno));
  struct stat about = {};
  if (::fstat(file.number(), &about) != 0) throw UsageError(name, ": cannot be read: ", std::strerror(errno));
  if (S_ISDIR(about.st_mode)) throw UsageError(name, ": is a folder, not a file");
  if (!S_ISREG(about.st_mode)) throw UsageError(name, ": is no plain file");
  if (about.st_size == 0) throw UsageError(name, ": the file is empty");
  size_ = about.st_size;
  const auto bytes = static_cast<size_t>(size_);
  // MAP_NORESERVE: no swap space is reserved for pages that are never written.
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.number(), 0);
  if (start == MAP_FAILED) throw UsageError(name, ": cannot be mapped into memory: ", std::strerror(errno));
  data_ = static_cast<char*>(start);
  if (access != FileAccess::Normal) ::madvise(start, bytes, advice(access));
  descriptor_ = file.take();
}

MappedFile::~MappedFile() {
  ::munmap(data_, static_cast<size_t>(size_));
  ::close(descriptor_);
}

bool MappedFile::holds(const void* begin, int64_t bytes) const {
  const auto first = reinterpret_cast<uintptr_t>(data_), at = reinterpret_cast<uintptr_t>(begin);
  return at >= first && bytes <= size_ && at - first <= static_cast<uintptr_t>(size_ - bytes);
}

void MappedFile::read(const void* begin, int64_t bytes, void* to) const {
  int64_t offset = static_cast<const char*>(begin) - data_;
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, out, static_cast<size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw UsageError(path_.string(), ": byte ", offset,
                       ": cannot be read: ", got == 0 ? "the file has become shorter" : std::strerror(errno));
    }
    out += got;
    offset += got;
    bytes -= got;
  }
}

void MappedFile::will_need(int64_t offset, int64_t bytes) const {
  ::posix_fadvise(descriptor_, offset, bytes, POSIX_FADV_WILLNEED);
}

MappedFilePtr map_file(const std::filesystem::path& path, FileAccess access) {
  return std::make_shared<const MappedFile>(path, access);
}

}  // namespace levin::data
