#pragma once
#include <cstddef>
#include <filesystem>

namespace levin {

/// A file that appears whole or not at all: written under a temporary name in the same folder, synced, then renamed.
class AtomicFile {
 public:
  /// Throws levin::UsageError where the folder is missing or no file can be made in it.
  explicit AtomicFile(const std::filesystem::path& path);
  /// Removes the temporary file unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends; after a failure it does nothing, and `commit` reports it.
  void write(const void* data, size_t bytes) noexcept;
  bool has_failed() const { return error_ != 0; }
  /// Puts the file in place. Throws levin::Error for a failed write (a full disk, say).
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  int error_ = 0;
};

}  // namespace levin
