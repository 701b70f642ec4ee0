#pragma once
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace levin {

/// A file that appears whole or not at all: written under a temporary name in the same folder, synced, then renamed.
///
/// The temporary file (.NAME.PID.N.tmp) is locked while it is written. The first write of a process into a folder also
/// removes the temporary files with the same extension that killed processes left there. Temporary files of live
/// processes, on this machine or another, stay.
class AtomicFile {
 public:
  /// Replaces what is there, a symbolic link too; `followed` gives what a link points to. Throws levin::UsageError if
  /// the folder is missing or no file can be made in it, and if there is, or a link leads to, something else than a
  /// plain file: a folder, a device, a pipe, a socket.
  explicit AtomicFile(const std::filesystem::path& path);
  /// Removes the temporary file unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends `bytes` bytes. After a failure `write` does nothing and `commit` reports the failure.
  void write(const void* data, size_t bytes) noexcept;
  bool has_failed() const { return error_ != 0; }
  /// Renames the file to its final name. Throws levin::Error if a write failed (on a full disk, for example).
  void commit();

 private:
  [[noreturn]] void fail(int error) const;
  bool reached(const char* stage) noexcept;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  int error_ = 0;
};

/// Returns the path of the file that a user names: where a symbolic link leads, so that the link stays a link.
std::filesystem::path followed(const std::filesystem::path& path);

/// Writes a file atomically, like AtomicFile. Throws levin::Error naming the file.
void write_text_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Gives `file` the second name `link` and atomically replaces what was there: with a clone that shares its blocks if
/// the file system can make one (btrfs, XFS), else a hard link, else a copy. A killed process leaves the old or the new
/// file. Throws levin::Error.
void link_atomically(const std::filesystem::path& file, const std::filesystem::path& link);

/// For tests: a hook that is called before each stage of making a file ("open", "write", "sync", "rename", "link",
/// "folder", "remove") and after the last one ("done"). If it returns a nonzero value, the stage fails with that errno.
using FileStageHook = int (*)(const char* stage);
/// Sets the hook (null: none) and returns the previous one.
FileStageHook set_file_stage_hook(FileStageHook hook);
/// Calls the hook and returns its result; returns 0 without a hook.
int file_stage(const char* stage);

}  // namespace levin
