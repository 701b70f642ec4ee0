#pragma once
#include <filesystem>
#include <string>

namespace levin::data {

/// A file that one thread of one process at a time has, where the file system knows locks. It is made where it is
/// missing, and stays when the object goes.
class FileLock {
 public:
  /// Waits while another has it, and says so once with `purpose` ("downloads mnist/a.gz"). Throws levin::UsageError
  /// where the file cannot be made, levin::Error where a signal came.
  FileLock(std::filesystem::path path, const std::string& purpose);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Open for reading and writing.
  int descriptor() const { return descriptor_; }
  /// Removes the file; who waits for it makes another.
  void remove() const;

 private:
  bool open(const std::string& purpose);
  void lock(const std::string& purpose) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace levin::data
