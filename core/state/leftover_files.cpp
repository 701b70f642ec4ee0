#include <levin/core/state/leftover_files.h>
#include <fcntl.h>
#include <levin/core/system/file_calls.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace levin {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kTemporary = ".tmp";
/// A hard link is renamed right after it is made; only a process killed in between leaves one.
constexpr time_t kSecondsOfLinks = 3600;

/// Removes ".123" from the end of `name` and returns the number.
std::optional<int64_t> take_number(std::string_view& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == name.size()) return {};
  int64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + dot + 1, end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 0) return {};
  name.remove_suffix(name.size() - dot);
  return number;
}

/// Returns the process in the name of a temporary file; nothing for other files.
std::optional<::pid_t> process_of(std::string_view name, const std::string& extension) {
  if (!name.starts_with('.') || !name.ends_with(kTemporary)) return {};
  name.remove_suffix(kTemporary.size());
  if (!take_number(name)) return {};
  const std::optional<int64_t> process = take_number(name);
  if (!process || *process <= 0 || !name.ends_with(extension)) return {};
  return static_cast<::pid_t>(*process);
}

bool is_recent_link(int descriptor) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return true;
  return status.st_nlink > 1 && ::time(nullptr) - status.st_ctime < kSecondsOfLinks;
}

/// Returns whether the process that made the file may still need it.
bool is_in_use(const fs::path& file, ::pid_t process, bool keeps_links) {
  if (runs_here(process)) return true;
  // A writer on another machine is recognized only by its lock; some network mounts lock only files open for writing.
  const int descriptor = open_file(file.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return true;
  const bool used = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 || (keeps_links && is_recent_link(descriptor));
  ::close(descriptor);
  return used;
}

}  // namespace

bool runs_here(::pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

std::string temporary_name(const std::string& name, ::pid_t process, uint64_t number) {
  return "." + name + "." + std::to_string(process) + "." + std::to_string(number) + std::string(kTemporary);
}

void remove_leftovers(const fs::path& folder, const std::string& extension, bool keeps_links) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& file = entry->path();
    const std::optional<::pid_t> process = process_of(file.filename().string(), extension);
    if (process && !is_in_use(file, *process, keeps_links)) ::unlink(file.c_str());
  }
}

bool has_temporary_file(const fs::path& path) {
  const std::string begin = "." + path.filename().string() + ".";
  std::error_code error;
  for (fs::directory_iterator entry(path.has_parent_path() ? path.parent_path() : fs::path("."), error), end;
       !error && entry != end; entry.increment(error)) {
    std::string_view name = entry->path().native();
    name.remove_prefix(name.rfind('/') + 1);
    // Another file's name may begin so, with more between: only ".PID.N.tmp" follows here.
    if (name.starts_with(begin) && process_of(name, path.extension().string()) &&
        std::count(name.begin() + static_cast<std::ptrdiff_t>(begin.size()), name.end(), '.') == 2)
      return true;
  }
  return false;
}

bool is_first_visit(const fs::path& folder, const std::string& kind) {
  static std::mutex mutex;
  static std::set<std::pair<std::string, std::string>> done;
  std::error_code ignored;
  const fs::path whole = fs::absolute(folder, ignored).lexically_normal();
  const std::lock_guard lock(mutex);
  return done.emplace(whole.string(), kind).second;
}

void remove_leftovers_once(const fs::path& folder, const std::string& extension) {
  // Without an extension, the file's temporary names could belong to other programs.
  if (!extension.empty() && is_first_visit(folder, extension)) remove_leftovers(folder, extension);
}

}  // namespace levin
