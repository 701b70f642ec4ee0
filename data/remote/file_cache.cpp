#include <levin/data/remote/file_cache.h>
#include <fcntl.h>
#include <levin/core/system/console.h>
#include <levin/core/system/file_calls.h>
#include <levin/data/download/cache_folder.h>
#include <levin/data/download/file_lock.h>
#include <levin/data/download/sha256.h>
#include <levin/data/remote/remote_options.h>
#include <levin/data/remote/remote_url.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

constexpr size_t kCachedNameDigits = 32;

fs::path remote_cache() { return cache_folder() / "remote"; }

std::string digits_of(const std::string& text) { return sha256_of_bytes(text).substr(0, kCachedNameDigits); }

/// An open file in which each folder of the cache has a byte: a process that has taken the folder holds a lock of it,
/// which ends with the process. The locks of two objects exclude each other, also in one process.
class FolderLocks {
 public:
  FolderLocks() : file_(open_file((remote_cache() / ".taken").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {}
  ~FolderLocks() {
    if (file_ >= 0) ::close(file_);
  }
  FolderLocks(const FolderLocks&) = delete;
  FolderLocks& operator=(const FolderLocks&) = delete;

  /// Shares the lock with others, after waiting for one who removes the folder. No-op without locks.
  void share(const fs::path& folder) const { lock(folder, F_RDLCK, /*waits=*/true); }
  /// Returns whether this object alone has the lock now.
  bool take(const fs::path& folder) const { return lock(folder, F_WRLCK, /*waits=*/false); }
  void release(const fs::path& folder) const { lock(folder, F_UNLCK, /*waits=*/false); }

 private:
  bool lock([[maybe_unused]] const fs::path& folder, [[maybe_unused]] int type, [[maybe_unused]] bool waits) const {
#ifdef F_OFD_SETLK
    struct flock range = {};
    range.l_type = static_cast<short>(type);
    range.l_whence = SEEK_SET;
    range.l_start = byte_of(folder);
    range.l_len = 1;
    int code = 0;
    do code = ::fcntl(file_, waits ? F_OFD_SETLKW : F_OFD_SETLK, &range);
    while (code != 0 && errno == EINTR);
    return code == 0;
#else
    return false;
#endif
  }

  /// Two folders that have the same byte by chance are kept together.
  static off_t byte_of(const fs::path& folder) {
    constexpr size_t kDigits = 15;  // of 4 bits
    const std::string digest = sha256_of_bytes(folder.parent_path().filename().string() + folder.filename().string());
    int64_t byte = 0;
    std::from_chars(digest.data(), digest.data() + kDigits, byte, 16);
    return byte;
  }

  int file_;
};

/// The locks that this process holds until it ends.
const FolderLocks& taken_folders() {
  static const FolderLocks locks;
  return locks;
}

/// Returns whether a lock that one holds keeps another out; some file systems have none.
bool has_folder_locks(const FolderLocks& locks) {
  const fs::path probe = remote_cache() / "probe";
  taken_folders().share(probe);
  const bool is_kept_out = !locks.take(probe);
  return is_kept_out;
}

struct CachedFolder {
  fs::path path = {};
  int64_t bytes = 0;
  std::pair<int64_t, int64_t> used = {};  ///< seconds and nanoseconds
};

int64_t bytes_below(const fs::path& folder) {
  int64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    struct stat about = {};
    if (::lstat(entry->path().c_str(), &about) == 0 && S_ISREG(about.st_mode)) bytes += about.st_size;
  }
  return bytes;
}

/// Returns the folders, the one used least recently first.
std::vector<CachedFolder> cached_folders() {
  std::vector<CachedFolder> folders;
  std::error_code error, inner;
  for (fs::directory_iterator url(remote_cache(), error), end; !error && url != end; url.increment(error)) {
    if (!url->is_directory(inner) || url->is_symlink(inner)) continue;
    for (fs::directory_iterator version(url->path(), inner); !inner && version != end; version.increment(inner)) {
      struct stat about = {};
      if (::lstat(version->path().c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) continue;
      folders.push_back({version->path(), bytes_below(version->path()), {about.st_mtim.tv_sec, about.st_mtim.tv_nsec}});
    }
  }
  std::ranges::sort(folders, {}, [](const CachedFolder& one) { return std::tie(one.used, one.path); });
  return folders;
}

/// Removes folders until the sum of all is at most `most`; returns that sum.
int64_t remove_down_to(int64_t most) {
  const std::vector<CachedFolder> folders = cached_folders();
  int64_t sum = 0;
  for (const CachedFolder& folder : folders) sum += folder.bytes;
  const FolderLocks locks;
  if (sum <= most || !has_folder_locks(locks)) return sum;
  for (const CachedFolder& folder : folders) {
    if (sum <= most) break;
    if (!locks.take(folder.path)) continue;
    std::error_code error;
    fs::remove_all(folder.path, error);
    if (!error) sum -= folder.bytes;
    locks.release(folder.path);
  }
  return sum;
}

/// The sum that the last process has left; nothing if it left none.
std::optional<int64_t> sum_in(const FileLock& ledger) {
  int64_t sum = -1;
  if (::pread(ledger.descriptor(), &sum, sizeof(sum), 0) != sizeof(sum) || sum < 0) return {};
  return sum;
}

}  // namespace

fs::path take_cached_folder(const std::string& url, const std::string& version) {
  const fs::path folder = remote_cache() / digits_of(without_signature(url)) / digits_of(version);
  std::error_code ignored;
  fs::create_directories(remote_cache(), ignored);
  taken_folders().share(folder);
  ::utimensat(AT_FDCWD, folder.c_str(), nullptr, 0);  // used now, if it is there
  return folder;
}

void make_room_for(int64_t bytes) {
  static bool has_counted = false, has_warned = false;
  const FileLock ledger(remote_cache() / ".ledger", "makes room in " + remote_cache().string());
  const int64_t limit = cache_bytes();
  std::optional<int64_t> sum = sum_in(ledger);
  if (!sum || !has_counted || *sum > limit - bytes) {
    // Some more are removed than needed, so that not every file counts all others again.
    const bool fits = sum && *sum <= limit - bytes;
    sum = remove_down_to(std::max<int64_t>(0, limit - bytes - (fits ? 0 : limit / 16)));
    has_counted = true;
  }
  *sum += bytes;
  if (*sum > limit && !std::exchange(has_warned, true))
    console::warn("LEVIN_CACHE_BYTES: the files in use take " + std::to_string(*sum) + " bytes in " +
                  remote_cache().string() + ", more than the " + std::to_string(limit) + " allowed");
  // A sum that cannot be written is counted again by the next process.
  if (::pwrite(ledger.descriptor(), &*sum, sizeof(*sum), 0) != sizeof(*sum) && ::ftruncate(ledger.descriptor(), 0) != 0)
    return;
}

}  // namespace levin::data
