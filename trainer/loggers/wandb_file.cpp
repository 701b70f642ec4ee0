#include <levin/trainer/loggers/wandb_file.h>
#include <fcntl.h>
#include <levin/core/state/crc32.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace levin {
namespace {

constexpr std::string_view kFileHeader("\x3aW&B\xe1\xbe\x00", 7);
constexpr int64_t kBlockBytes = 32768, kFrameBytes = 7;
enum Part : char { Whole = 1, First = 2, Middle = 3, Last = 4 };

/// Returns a part of a record with its checksum, length and kind before it.
std::string frame(Part part, std::string_view data) {
  std::string covered(1, part);
  covered += data;
  const uint32_t crc = crc32_of(covered);
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(crc >> (8 * i));
  bytes += static_cast<char>(data.size());
  bytes += static_cast<char>(data.size() >> 8);
  return bytes + covered;
}

}  // namespace

WandbFile::WandbFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = open_file(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("cannot open the file");
  try {
    scan();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

WandbFile::~WandbFile() { ::close(descriptor_); }

void WandbFile::fail(const char* what) const { throw Error(path_.string(), ": ", what, ": ", std::strerror(errno)); }

void WandbFile::scan() {
  std::ifstream in(path_, std::ios::binary);
  std::string header(kFileHeader.size(), '\0');
  in.read(header.data(), static_cast<std::streamsize>(header.size()));
  const bool is_new = in.gcount() < static_cast<std::streamsize>(kFileHeader.size());
  if (!is_new && header != kFileHeader)
    throw Error(path_.string(), ": expected a file of wandb's offline runs; move it away");
  if (is_new) {
    if (::ftruncate(descriptor_, 0) != 0) fail("cannot write to the file");
    write(kFileHeader);
    return;
  }
  // The whole file in memory would be much for a long run.
  int64_t at = kFileHeader.size(), whole = at;
  for (std::string data;;) {
    const int64_t left = kBlockBytes - at % kBlockBytes;
    if (left < kFrameBytes) {
      in.ignore(left);
      at += left;
      continue;
    }
    unsigned char start[kFrameBytes];
    if (!in.read(reinterpret_cast<char*>(start), kFrameBytes)) break;
    const int64_t length = start[4] | start[5] << 8;
    data.resize(static_cast<size_t>(length));
    if (length > left - kFrameBytes || !in.read(data.data(), length)) break;
    const Part part = static_cast<Part>(start[6]);
    if (frame(part, data).compare(0, kFrameBytes, reinterpret_cast<const char*>(start), kFrameBytes) != 0) break;
    at += kFrameBytes + length;
    if (part == Whole || part == Last) {
      whole = at;
      ++records_;
    }
  }
  size_ = whole;
  if (::ftruncate(descriptor_, whole) != 0) fail("cannot write to the file");
}

void WandbFile::write(std::string_view bytes) {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || status.st_nlink == 0)
    throw Error(path_.string(), ": the file was removed while the run was writing to it");
  if (const int error = write_all(descriptor_, bytes.data(), bytes.size()); error != 0) {
    [[maybe_unused]] const int cut = ::ftruncate(descriptor_, size_);
    errno = error;
    fail("cannot write to the file");
  }
  size_ += static_cast<int64_t>(bytes.size());
}

void WandbFile::append(std::string_view record) {
  std::string bytes;
  for (bool is_first = true, is_last = false; !is_last; is_first = false) {
    int64_t left = kBlockBytes - (size_ + static_cast<int64_t>(bytes.size())) % kBlockBytes;
    if (left < kFrameBytes) {
      bytes.append(static_cast<size_t>(left), '\0');
      left = kBlockBytes;
    }
    const std::string_view some = record.substr(0, static_cast<size_t>(left - kFrameBytes));
    record.remove_prefix(some.size());
    is_last = record.empty();
    bytes += frame(is_first ? (is_last ? Whole : First) : (is_last ? Last : Middle), some);
  }
  write(bytes);
  ++records_;
}

void WandbFile::cut(int64_t size, int64_t records) {
  if (size < static_cast<int64_t>(kFileHeader.size()) || size > size_) return;
  if (::ftruncate(descriptor_, size) != 0) fail("cannot write to the file");
  size_ = size;
  records_ = records;
}

void WandbFile::sync() {
  errno = sync_file(descriptor_);
  if (errno != 0) fail("cannot write to the disk");
}

}  // namespace levin
