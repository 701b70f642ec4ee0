#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace levin::data {

/// The file in which a download grows: the target's name with `.part`. It stays when the object goes, so that a later
/// download can go on from there.
///
/// While the object lives no other thread or process has the same part, where the file system knows locks.
class PartFile {
 public:
  /// Waits while another has it. Throws levin::UsageError where it cannot be made, levin::Error where a signal came.
  explicit PartFile(const std::filesystem::path& target);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int64_t size() const { return size_; }
  /// Throw levin::Error where the system refuses (a full disk, say).
  void append(const void* data, size_t bytes);
  void clear();
  /// Makes the file the target, whole on the disk first.
  void commit();
  void remove();

 private:
  bool open();
  void lock() const;
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path target_, path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace levin::data
