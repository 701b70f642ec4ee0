#pragma once
#include <levin/data/download/file_lock.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace levin::data {

/// The file in which a download grows: the target's name with `.part`. It stays when the object goes, so that a later
/// download can go on from there. While the object lives no other thread or process has the same part.
class PartFile {
 public:
  /// Waits while another has it; throws as FileLock.
  explicit PartFile(const std::filesystem::path& target);

  const std::filesystem::path& path() const { return file_.path(); }
  int64_t size() const { return size_; }
  /// Throw levin::Error where the system refuses (a full disk, say).
  void append(const void* data, size_t bytes);
  void clear();
  /// Makes the file the target, whole on the disk first.
  void commit();
  void remove() const { file_.remove(); }

 private:
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path target_;
  FileLock file_;
  int64_t size_;
};

}  // namespace levin::data
