#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace levin::data {

/// The order in which a mapped file will be read, for the system's read-ahead.
enum class FileAccess { Normal, Sequential, Random };

/// A file mapped into memory; the system reads the pages that are touched. Owned by a shared_ptr.
///
/// The mapping is private: a write to it, for example through a tensor, stays in this process and never reaches the
/// file. If another process truncates the file while it is mapped, an access ends this process with SIGBUS, as with
/// every mapping.
class MappedFile {
 public:
  /// Throws levin::UsageError that names the file if it is missing, unreadable, empty, or not a regular file. `name`
  /// stands for the path in messages: a URL, if the file is a copy.
  explicit MappedFile(std::filesystem::path path, FileAccess access = FileAccess::Normal,
                      const std::filesystem::path& name = {});
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Returns the path, or the name in its place.
  const std::filesystem::path& path() const { return path_; }
  int64_t size() const { return size_; }
  /// Returns the first byte. A write through this pointer changes only this process's view.
  char* data() const { return data_; }
  std::string_view text() const { return {data_, static_cast<size_t>(size_)}; }
  /// Returns whether [begin, begin + bytes) lies inside the mapping.
  bool holds(const void* begin, int64_t bytes) const;
  /// Copies the file's bytes at [begin, begin + bytes), which must lie inside the mapping, to `to`. For large reads
  /// that happen once this is faster than touching the mapped pages; read() does not see what was written into the
  /// mapping. Throws levin::UsageError if the file has become shorter or cannot be read.
  void read(const void* begin, int64_t bytes, void* to) const;
  /// Asks the system to read [offset, offset + bytes) from the disk in the background.
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
