#include <levin/data/tables/sealed_memory.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace levin::data {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

ColumnBuffer SealedMemory::take(int64_t bytes) {
  if (!file_.is_open()) file_ = Descriptor(memfd_create("levin_table", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int64_t page = sysconf(_SC_PAGESIZE), room = (std::max<int64_t>(bytes, 1) + page - 1) / page * page;
  expect(file_.is_open() && ftruncate(file_.number(), bytes_ + room) == 0, "there is not enough memory to read it");
  void* const mapped =
      mmap(nullptr, static_cast<size_t>(room), PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), bytes_);
  expect(mapped != MAP_FAILED, "there is not enough memory to read it");
  ColumnBuffer buffer;
  buffer.bytes.reset(static_cast<std::byte*>(mapped),
                     [room](std::byte* begin) { munmap(begin, static_cast<size_t>(room)); });
  buffer.size = bytes;
  buffer.place = bytes_;
  bytes_ += room;
  return buffer;
}

int SealedMemory::seal() {
  if (file_.is_open()) expect(fcntl(file_.number(), F_ADD_SEALS, kSeals) == 0, "its memory cannot be made final");
  return file_.number();
}

MappedMemory map_sealed(const Descriptor& file) {
  struct stat status = {};
  if (fcntl(file.number(), F_GET_SEALS) != kSeals || fstat(file.number(), &status) != 0 || status.st_size <= 0)
    throw std::runtime_error("the process that read it gave memory that can change");
  const auto bytes = static_cast<size_t>(status.st_size);
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.number(), 0);
  expect(mapped != MAP_FAILED, "its values cannot be mapped");
  MappedMemory memory{.bytes = status.st_size};
  memory.begin.reset(static_cast<std::byte*>(mapped), [bytes](std::byte* begin) { munmap(begin, bytes); });
  return memory;
}

}  // namespace levin::data
