#pragma once
#include <levin/data/download/file_lock.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace levin::data {

/// The file that a download is written to: the target's name with `.part`. It stays when the object is destroyed, so
/// that a later download can resume. While the object lives, it locks the part against other threads and processes.
class PartFile {
 public:
  /// Waits while another thread or process holds the part; throws as FileLock.
  explicit PartFile(const std::filesystem::path& target);

  const std::filesystem::path& path() const { return file_.path(); }
  int64_t size() const { return size_; }
  /// `append` and `clear` throw levin::Error if the system refuses (a full disk, for example).
  void append(const void* data, size_t bytes);
  void clear();
  /// Renames the file to the target, after syncing it to the disk.
  void commit();
  void remove() const { file_.remove(); }

 private:
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path target_;
  FileLock file_;
  int64_t size_;
};

}  // namespace levin::data
