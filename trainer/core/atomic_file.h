#pragma once
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace levin {

/// A file that appears whole or not at all: written under a temporary name in the same folder, synced, then renamed.
///
/// The temporary file (.NAME.PID.N.tmp) is locked while it is written. What killed processes have left of files with
/// the same extension is removed the first time that a process writes such a file into the folder; what a live process
/// writes, on this machine or another, stays.
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
  bool reached(const char* stage) noexcept;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  int error_ = 0;
};

/// Writes a file whole or not at all, as AtomicFile. Throws levin::Error naming the file.
void write_text_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Gives `file` the second name `link`, which replaces what was there in one go: a clone that shares its blocks where
/// the file system can make one (btrfs, XFS), else a hard link, else a copy. A killed process leaves the old or the new
/// one. Throws levin::Error.
void link_atomically(const std::filesystem::path& file, const std::filesystem::path& link);

/// For tests: called before each stage of making a file ("open", "write", "sync", "rename", "link", "remove") and after
/// the last ("done"); what it returns, where that is not 0, is the error (an errno) that the stage fails with.
using FileStageHook = int (*)(const char* stage);
/// Null: none. Returns the hook that was there.
FileStageHook set_file_stage_hook(FileStageHook hook);
/// Asks the hook; 0 without one.
int file_stage(const char* stage);

}  // namespace levin
