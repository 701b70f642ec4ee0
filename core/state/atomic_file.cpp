#include <levin/core/state/atomic_file.h>
#include <levin/core/state/leftover_files.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace levin {
namespace fs = std::filesystem;
namespace {

std::string describe(int error) { return std::generic_category().message(error); }

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

fs::path next_temporary_name(const fs::path& path) {
  static std::atomic<uint64_t> counter = 0;
  remove_leftovers_once(folder_of(path), path.extension().string());
  return folder_of(path) / temporary_name(path.filename().string(), ::getpid(), counter++);
}

/// Opens a new empty file that stays locked while it is open, if the file system supports locks.
int open_locked(const fs::path& temporary) {
  const int descriptor = open_file(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor >= 0) ::flock(descriptor, LOCK_EX | LOCK_NB);
  return descriptor;
}

/// Returns false, and leaves no file, if the file system cannot make clones.
bool clone_file(const fs::path& file, const fs::path& temporary) {
  const int from = open_file(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return false;
  const int to = open_locked(temporary);
  const bool cloned = to >= 0 && ::ioctl(to, FICLONE, from) == 0 && sync_file(to) == 0;
  if (to >= 0) ::close(to);
  ::close(from);
  if (to >= 0 && !cloned) ::unlink(temporary.c_str());
  return cloned;
}

std::error_code make_second_file(const fs::path& file, const fs::path& temporary) {
  std::error_code error;
  if (clone_file(file, temporary)) return error;
  fs::create_hard_link(file, temporary, error);
  if (!error || error == std::errc::no_space_on_device) return error;
  fs::copy_file(file, temporary, error);
  const int descriptor = open_file(temporary.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return error;
  sync_file(descriptor);
  ::close(descriptor);
  return error;
}

/// Makes the rename of `path` itself durable. A folder that cannot be synced (on some network mounts) is ignored; one
/// whose sync fails is not.
void sync_folder_of(const fs::path& path) {
  const int descriptor = open_file(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  int error = file_stage("folder");
  if (error == 0) error = sync_file(descriptor);
  ::close(descriptor);
  if (error == EIO || error == ENOSPC || error == EDQUOT)
    throw Error(path.string(), ": was written, but its folder could not be synced: ", describe(error),
                "; after a power failure the file may be missing");
}

std::atomic<FileStageHook> stage_hook = nullptr;

}  // namespace

FileStageHook set_file_stage_hook(FileStageHook hook) { return stage_hook.exchange(hook); }

int file_stage(const char* stage) {
  const FileStageHook hook = stage_hook;
  return hook == nullptr ? 0 : hook(stage);
}

void link_atomically(const fs::path& file, const fs::path& link) {
  if (file == link) return;
  std::error_code error(file_stage("link"), std::generic_category());
  const fs::path temporary = next_temporary_name(link);
  if (!error) error = make_second_file(file, temporary);
  if (!error) fs::rename(temporary, link, error);
  std::error_code ignored;
  // If both are names of one file, the rename is a no-op and the temporary name is still there.
  fs::remove(temporary, ignored);
  if (error) throw Error(link.string(), ": cannot be made another name of ", file.string(), ": ", error.message());
  sync_folder_of(link);
}

AtomicFile::AtomicFile(const fs::path& path) : path_(path), temporary_(next_temporary_name(path)) {
  std::error_code ignored;
  const fs::file_type there = fs::status(path, ignored).type();
  if (!path.has_filename() || there == fs::file_type::directory)
    throw UsageError(path.string(), ": cannot be written, it is a folder; give the name of a file");
  if (fs::exists(fs::file_status(there)) && there != fs::file_type::regular)
    throw UsageError(path.string(), ": cannot be written, it is a device, a pipe or a socket; give the name of a file");
  int error = file_stage("open");
  if (error == 0) {
    descriptor_ = open_locked(temporary_);
    if (descriptor_ >= 0) return;
    error = errno;
  }
  if (error == ENOENT)
    throw UsageError(path.string(), ": cannot be written, there is no folder ", folder_of(path).string());
  throw UsageError(path.string(), ": cannot be written in ", folder_of(path).string(), ": ", describe(error));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

bool AtomicFile::reached(const char* stage) noexcept {
  if (error_ == 0) error_ = file_stage(stage);
  return error_ == 0;
}

void AtomicFile::write(const void* data, size_t bytes) noexcept {
  if (reached("write")) error_ = write_all(descriptor_, data, bytes);
}

void AtomicFile::commit() {
  if (reached("sync")) error_ = sync_file(descriptor_);
  if (error_ != 0) fail(error_);
  if (!reached("rename")) fail(error_);
  // The file is unlocked only after the rename: a locked file is not taken for a leftover.
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  ::close(std::exchange(descriptor_, -1));
  temporary_.clear();
  sync_folder_of(path_);
  file_stage("done");
}

fs::path followed(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored) : path;
}

void write_text_file_atomically(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

void AtomicFile::fail(int error) const {
  throw Error(path_.string(), ": writing failed: ", describe(error), "; what was there before is unchanged");
}

}  // namespace levin
