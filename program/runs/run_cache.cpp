#include <levin/program/runs/run_cache.h>
#include <levin/core/system/error.h>
#include <levin/program/runs/run_folders.h>
#include <levin/trainer/run_folder/run_lock.h>
#include <levin/trainer/run_folder/run_request.h>

#include <algorithm>
#include <system_error>

namespace levin::runs {
namespace {

namespace fs = std::filesystem;

/// Describes the state of a run's files: if it is the same, so is the run.
std::string stamp_of(const fs::path& folder) {
  std::string stamp;
  for (const char* file :
       {"metrics.jsonl", "metrics.csv", "summary.json", "config.json", "checkpoints", kRequestFile, kPausedFile}) {
    std::error_code error;
    const fs::file_time_type time = fs::last_write_time(folder / file, error);
    if (error) continue;
    stamp += file[0];
    stamp += std::to_string(time.time_since_epoch().count()) + "-";
    if (const uintmax_t bytes = fs::file_size(folder / file, error); !error) stamp += std::to_string(bytes) + "-";
  }
  return stamp + (RunLock::holder(folder) ? "r" : "e");
}

}  // namespace

std::vector<std::pair<std::string, RunCache::Entry>> RunCache::all(const std::stop_token& stop) {
  std::vector<std::pair<std::string, Entry>> found;
  std::map<std::string, Entry> kept;
  for (const fs::path& folder : find_run_folders(root_)) {
    if (stop.stop_requested()) throw Error("The server ends.");
    if (!is_inside(folder)) continue;
    const std::string name = folder.lexically_relative(root_).generic_string();
    if (const std::optional<Entry> entry = read(folder, name)) {
      kept[name] = *entry;
      found.emplace_back(name, *entry);
    }
  }
  known_ = std::move(kept);
  return found;
}

std::optional<RunCache::Entry> RunCache::at(const std::string& name, const std::stop_token& stop) {
  if (known_.contains(name)) {
    const fs::path folder = name == "." ? root_ : root_ / name;
    const std::optional<Entry> entry = is_inside(folder) ? read(folder, name) : std::nullopt;
    if (entry) known_[name] = *entry;
    return entry;
  }
  for (auto& [known, entry] : all(stop))
    if (known == name) return entry;
  return {};
}

/// A link may lead out of the root.
bool RunCache::is_inside(const fs::path& folder) const {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error), root = fs::canonical(root_, error);
  return !error && std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
}

std::optional<RunCache::Entry> RunCache::read(const fs::path& folder, const std::string& name) const {
  const std::string stamp = stamp_of(folder);
  const auto found = known_.find(name);
  if (found != known_.end() && found->second.stamp == stamp) return found->second;
  try {
    auto run = std::make_shared<const RecordedRun>(read_run(folder));
    return Entry{run->is_unread ? "" : stamp, run};  // without a stamp it is read again
  } catch (const UsageError&) {
    return {};  // removed meanwhile
  }
}

}  // namespace levin::runs
