#pragma once
#include <levin/trainer/loggers/event_file.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace levin {

/// A file of records as the package wandb writes its offline runs: LevelDB's log format behind a header of 7 bytes.
/// Each record is written at once, so a killed run keeps all records.
class WandbFile {
 public:
  /// Creates the file, or opens one to append to it; the part of a record at its end is cut off. Throws levin::Error if
  /// it cannot be written, or is no such file.
  explicit WandbFile(std::filesystem::path path);
  ~WandbFile();
  WandbFile(const WandbFile&) = delete;
  WandbFile& operator=(const WandbFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Returns the size in bytes.
  int64_t size() const { return size_; }
  int64_t records() const { return records_; }
  /// Appends one record, or nothing of it if the disk is full.
  void append(std::string_view record);
  /// Cuts the file back to a size, at which it had so many records.
  void cut(int64_t size, int64_t records);
  /// Waits until everything is on the disk.
  void sync();

 private:
  void scan();
  void write(std::string_view bytes);
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  int64_t size_ = 0, records_ = 0;
};

}  // namespace levin
