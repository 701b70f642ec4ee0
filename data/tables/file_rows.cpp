#include <levin/data/tables/file_rows.h>
#include <fcntl.h>
#include <levin/data/python/descriptor.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
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

}  // namespace

FileRows::FileRows(std::string path) : path_(std::move(path)) {
  if (::stat(path_.c_str(), &state_) != 0) state_ = {};
}

ColumnBuffer FileRows::map(int64_t begin, int64_t bytes) const {
  if (begin < 0 || bytes <= 0 || !S_ISREG(state_.st_mode) || begin > state_.st_size || bytes > state_.st_size - begin)
    return {};
  const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat now = {};
  if (!file.is_open() || ::fstat(file.number(), &now) != 0 || !is_same(now, state_)) return {};
  const int64_t before = begin % sysconf(_SC_PAGESIZE);
  const auto mapped_bytes = static_cast<size_t>(bytes + before);
  void* const mapped = mmap(nullptr, mapped_bytes, PROT_READ, MAP_PRIVATE, file.number(), begin - before);
  if (mapped == MAP_FAILED) return {};
  const std::shared_ptr<std::byte[]> owner(static_cast<std::byte*>(mapped),
                                           [mapped_bytes](std::byte* at) { munmap(at, mapped_bytes); });
  if (!read_pages(mapped, mapped_bytes)) return {};
  return {.bytes = {owner, owner.get() + before}, .size = bytes};
}

}  // namespace levin::data
