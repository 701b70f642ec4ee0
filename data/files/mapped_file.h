#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace levin::data {

/// In which order a mapped file will be read, for the system's read-ahead.
enum class FileAccess { Normal, Sequential, Random };

/// A whole file in memory, of which the system reads what is touched. Kept alive by a shared_ptr.
///
/// The mapping is private: what is written into it, through a tensor say, stays in this process and never reaches the
/// file. A file that another process cuts while it is mapped ends this one with SIGBUS, as with every mapping.
class MappedFile {
 public:
  /// Throws levin::UsageError that names the file: missing, unreadable, a folder or no plain file, empty.
  explicit MappedFile(std::filesystem::path path, FileAccess access = FileAccess::Normal);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int64_t size() const { return size_; }
  /// The first byte. Writing through it changes this process's view alone.
  char* data() const { return data_; }
  std::string_view text() const { return {data_, static_cast<size_t>(size_)}; }
  /// Whether [begin, begin + bytes) lies inside.
  bool holds(const void* begin, int64_t bytes) const;
  /// Copies the file's bytes at [begin, begin + bytes), which lies inside, to `to`. For much that is read once: faster
  /// than touching the mapped pages, by a read() that does not see what was written into the mapping. Throws
  /// levin::UsageError where the file has become shorter or cannot be read.
  void read(const void* begin, int64_t bytes, void* to) const;
  /// Lets the system read [offset, offset + bytes) from the disk meanwhile.
  void will_need(int64_t offset, int64_t bytes) const;

 private:
  std::filesystem::path path_;
  char* data_ = nullptr;
  int64_t size_ = 0;
  int descriptor_ = -1;
};

using MappedFilePtr = std::shared_ptr<const MappedFile>;

/// `std::make_shared<const MappedFile>(path, access)`.
MappedFilePtr map_file(const std::filesystem::path& path, FileAccess access = FileAccess::Normal);

}  // namespace levin::data
