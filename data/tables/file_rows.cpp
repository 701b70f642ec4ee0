#include <levin/data/tables/file_rows.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

namespace levin::data {
namespace {

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

/// Returns false if the pages cannot be read. An old system reads them when they are touched.
bool read_pages(void* begin, size_t bytes) {
#ifdef MADV_POPULATE_READ
  if (madvise(begin, bytes, MADV_POPULATE_READ) == 0) return true;
  if (errno != EINVAL) return false;
#endif
  madvise(begin, bytes, MADV_WILLNEED);
  return true;
}

/// Returns false if the part cannot be read, or not to its end.
bool read_part(int file, FilePart part, std::byte* to) {
  while (part.bytes > 0) {
    const ssize_t got = ::pread(file, to, static_cast<size_t>(part.bytes), part.begin);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    part.begin += got;
    part.bytes -= got;
    to += got;
  }
  return true;
}

}  // namespace

FileRows::FileRows(std::string path) : path_(std::move(path)) {
  if (::stat(path_.c_str(), &state_) != 0) state_ = {};
}

Descriptor FileRows::open_same() const {
  Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat now = {};
  if (!file.is_open() || ::fstat(file.number(), &now) != 0 || !is_same(now, state_)) return {};
  return file;
}

bool FileRows::has(const FilePart& part) const {
  return S_ISREG(state_.st_mode) && part.begin >= 0 && part.bytes > 0 && part.begin <= state_.st_size &&
         part.bytes <= state_.st_size - part.begin;
}

ColumnBuffer FileRows::map(const FilePart& part) const {
  const Descriptor file = has(part) ? open_same() : Descriptor();
  if (!file.is_open()) return {};
  const int64_t before = part.begin % sysconf(_SC_PAGESIZE);
  const auto mapped_bytes = static_cast<size_t>(part.bytes + before);
  void* const mapped = mmap(nullptr, mapped_bytes, PROT_READ, MAP_PRIVATE, file.number(), part.begin - before);
  if (mapped == MAP_FAILED) return {};
  const std::shared_ptr<std::byte[]> owner(static_cast<std::byte*>(mapped),
                                           [mapped_bytes](std::byte* at) { munmap(at, mapped_bytes); });
  if (!read_pages(mapped, mapped_bytes)) return {};
  return {.bytes = {owner, owner.get() + before}, .size = part.bytes};
}

ColumnBuffer FileRows::copy(const std::vector<FilePart>& parts) const {
  if (!std::ranges::all_of(parts, [this](const FilePart& part) { return has(part); })) return {};
  const Descriptor file = open_same();
  if (!file.is_open()) return {};
  ColumnBuffer all;
  for (const FilePart& part : parts) all.size += part.bytes;
  all.bytes = std::make_shared_for_overwrite<std::byte[]>(static_cast<size_t>(all.size));
  std::byte* to = all.get();
  for (const FilePart& part : parts) {
    if (!read_part(file.number(), part, to)) return {};
    to += part.bytes;
  }
  return all;
}

}  // namespace levin::data
