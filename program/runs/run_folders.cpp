#include <levin/program/runs/run_folders.h>
#include <levin/core/system/error.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/remote/local_path.h>
#include <levin/trainer/run_folder/run_record.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace levin::runs {
namespace {

namespace fs = std::filesystem;

/// Splits a name into text and number, by which versions are sorted: version_9 stands before version_10.
std::pair<std::string, int64_t> sorted_by(const fs::path& folder) {
  const std::string text = folder.generic_string();
  const size_t digits = text.find_last_not_of("0123456789") + 1;
  int64_t number = -1;
  std::from_chars(text.data() + digits, text.data() + text.size(), number);
  return {text.substr(0, digits), number};
}

}  // namespace

bool is_run_folder(const fs::path& folder) {
  std::error_code ignored;
  return std::ranges::any_of(std::array{kRunRecordFile, kMetricLines, kMetricTable},
                             [&](const char* file) { return fs::is_regular_file(folder / file, ignored); });
}

std::vector<fs::path> find_run_folders(const fs::path& root) {
  if (is_run_folder(root)) return {root};
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (!at->is_directory(ignored) || !is_run_folder(at->path())) continue;
    found.push_back(at->path());
    at.disable_recursion_pending();
  }
  std::ranges::sort(found, {}, sorted_by);
  return found;
}

std::vector<fs::path> run_folders_inside(const fs::path& folder) {
  std::vector<fs::path> found = {folder};
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->symlink_status(ignored).type() == fs::file_type::directory && is_run_folder(at->path()))
      found.push_back(at->path());
  }
  return found;
}

void require_folder(const std::string& who, const fs::path& folder) {
  std::error_code ignored;
  if (is_on_server(folder))
    throw UsageError(who, data::shown_url(folder.native()),
                     " is a URL, and runs are read from folders of this machine; copy the run here first");
  if (!fs::is_directory(folder, ignored)) throw UsageError(who, folder.string(), ": there is no such folder");
}

void require_run_folder(const fs::path& folder) {
  require_folder("", folder);
  if (!is_run_folder(folder))
    throw UsageError(folder.string(), ": is not the folder of a run: it has no run.json, metrics.jsonl or metrics.csv");
}

}  // namespace levin::runs
