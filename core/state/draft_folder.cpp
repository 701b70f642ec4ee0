#include <levin/core/state/draft_folder.h>
#include <levin/core/state/leftover_files.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace levin {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kDraft = ".draft";

/// Returns the process whose draft for `name` a folder is; 0 if it is none.
::pid_t process_of_draft(std::string_view folder, const std::string& name) {
  const std::string begin = "." + name + ".";
  if (!folder.starts_with(begin) || !folder.ends_with(kDraft)) return 0;
  folder.remove_prefix(begin.size());
  folder.remove_suffix(std::min(kDraft.size(), folder.size()));
  ::pid_t process = 0;
  const auto parsed = std::from_chars(folder.data(), folder.data() + folder.size(), process);
  return parsed.ec == std::errc() && parsed.ptr == folder.data() + folder.size() ? process : 0;
}

int lock_of(const fs::path& folder) {
  const int descriptor = open_file(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0 || ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

void remove_abandoned(const fs::path& parent, const std::string& name) {
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    const ::pid_t process = process_of_draft(entry->path().filename().native(), name);
    if (process <= 0 || runs_here(process)) continue;
    const int lock = lock_of(entry->path());
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(entry->path(), ignored);
    ::close(lock);
  }
}

}  // namespace

DraftFolder::DraftFolder(const fs::path& target) {
  const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const std::string name = target.filename().string();
  remove_abandoned(parent, name);
  folder_ = parent / ("." + name + "." + std::to_string(::getpid()) + std::string(kDraft));
  std::error_code error;
  if (!fs::create_directory(folder_, error))
    throw UsageError(target.string(), ": cannot be written: ", folder_.string(), ": ",
                     error ? error.message() : "is there already; remove it");
  lock_ = lock_of(folder_);
}

DraftFolder::~DraftFolder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace levin
