#pragma once
#include <filesystem>
#include <string>

namespace levin::data {

/// A file lock that one thread of one process holds at a time, if the file system supports locks. The file is made if
/// it is missing, and stays when the object is destroyed.
class FileLock {
 public:
  /// Waits while another thread or process holds the lock, and reports once that it waits for a process that `purpose`
  /// ("downloads mnist/a.gz"). Throws levin::UsageError if the file cannot be made, levin::Error on a signal.
  FileLock(std::filesystem::path path, const std::string& purpose);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Open for reading and writing.
  int descriptor() const { return descriptor_; }
  /// Removes the file; a thread or process that waits for it makes a new one.
  void remove() const;

 private:
  bool open(const std::string& purpose);
  void lock(const std::string& purpose) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace levin::data
