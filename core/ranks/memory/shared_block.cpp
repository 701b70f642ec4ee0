#include <levin/core/ranks/memory/shared_block.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <utility>

namespace levin {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void fail(const std::string& what) { throw Error(what, ": ", std::strerror(errno)); }

}  // namespace

SharedBlock::SharedBlock(size_t bytes) : bytes_(bytes) {
  descriptor_ = memfd_create("levin-ranks", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor_ < 0) fail("memory shared by ranks");
  // Nobody can make it smaller, which would end the processes that read it. Its pages are taken now, not when they are
  // written, where a full system ends the process too.
  const auto size = static_cast<off_t>(bytes);
  if (ftruncate(descriptor_, size) != 0 || fallocate(descriptor_, 0, 0, size) != 0 ||
      fchmod(descriptor_, S_IRUSR | S_IWUSR) != 0 || fcntl(descriptor_, F_ADD_SEALS, kSeals) != 0) {
    withdraw();
    fail("memory shared by ranks");
  }
  map("memory shared by ranks");
}

SharedBlock::SharedBlock(int64_t process, int64_t descriptor, size_t bytes) : bytes_(bytes) {
  const std::string what = c10::str("memory of process ", process);
  descriptor_ = open_file(c10::str("/proc/", process, "/fd/", descriptor).c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0) fail(what);
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0 || status.st_size != static_cast<off_t>(bytes) || status.st_uid != geteuid() ||
      fcntl(descriptor_, F_GET_SEALS) != kSeals) {
    withdraw();
    throw Error(what, ": it is not that of a rank");
  }
  map(what);
  withdraw();
}

void SharedBlock::map(const std::string& what) {
  void* const place = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (place == MAP_FAILED) {
    withdraw();
    fail(what);
  }
  data_ = static_cast<std::byte*>(place);
}

SharedBlock::~SharedBlock() {
  withdraw();
  if (data_ != nullptr) munmap(data_, bytes_);
}

SharedBlock::SharedBlock(SharedBlock&& other) noexcept
    : bytes_(other.bytes_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)) {}

void SharedBlock::withdraw() {
  const int reason = errno;
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  errno = reason;
}

}  // namespace levin
