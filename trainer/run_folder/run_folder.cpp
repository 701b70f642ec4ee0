#include <levin/trainer/run_folder/run_folder.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/remote/output_place.h>
#include <levin/data/remote/remote_object.h>
#include <levin/trainer/run_folder/run_environment.h>
#include <levin/trainer/run_folder/run_request.h>
#include <levin/trainer/run_folder/run_summary.h>
#include <levin/trainer/run_folder/run_versions.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <system_error>
#include <utility>
#include <vector>

namespace levin {
namespace {

namespace fs = std::filesystem;
constexpr const char* kConfig = "config.json";
constexpr const char* kSummary = "summary.json";
/// A new run removes what killed processes have left in this number of newest versions.
constexpr size_t kVersionsSwept = 10;

[[noreturn]] void cannot_create(const fs::path& folder, const std::string& reason) {
  throw UsageError("cannot create the run's folder ", folder.string(), ": ", reason,
                   "; set trainer.default_root_dir (--default-root-dir) to a folder that can be written to");
}

/// Returns the existing versions, the highest first.
std::vector<int64_t> versions_in(const fs::path& parent) {
  std::vector<int64_t> versions;
  std::error_code error;
  fs::directory_iterator entries(parent, error);
  if (error) cannot_create(parent, error.message());
  for (const fs::directory_entry& entry : entries) {
    if (const std::optional<int64_t> version = version_of(entry.path())) versions.push_back(*version);
  }
  std::ranges::sort(versions, std::ranges::greater());
  return versions;
}

fs::path make_next_folder(const fs::path& default_root_dir, const std::string& name) {
  const fs::path below(name);
  if (below.is_absolute() || std::count(below.begin(), below.end(), fs::path(".."))) {
    throw UsageError("name: '", name, "' leads out of default_root_dir; choose a plain name such as mnist_lenet");
  }
  const fs::path parent = default_root_dir / below;
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) cannot_create(parent, error.message());
  const std::vector<int64_t> versions = versions_in(parent);
  // A run that was killed before its first checkpoint is not resumed.
  for (size_t i = 0; i < std::min(versions.size(), kVersionsSwept); ++i)
    remove_leftovers_of_run(folder_of_version(parent, versions[i]), /*keeps_links=*/true);
  for (int64_t version = versions.empty() ? 0 : versions.front() + 1;; ++version) {
    fs::path folder = folder_of_version(parent, version);
    if (::mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST) cannot_create(folder, std::strerror(errno));
  }
}

/// Returns whether `entry` may exist before the first batch: a file of the run or of a logger, or an empty checkpoints
/// folder.
bool is_there_before_training(const fs::directory_entry& entry) {
  static const std::array kNames = {RunLock::kFile,   kRunRecordFile,      kConfig,         kSummary,
                                    kEnvironmentFile, "metrics.csv",       "metrics.jsonl", "mlflow.json",
                                    "mlflow.lock",    "mlflow_queue.jsonl"};
  const std::string name = entry.path().filename().string();
  std::error_code error;
  if (name == "checkpoints") return fs::is_empty(entry.path(), error) && !error;
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() || name == "wandb" ||
         name.rfind("events.out.tfevents", 0) == 0;
}

}  // namespace

RunFolder RunFolder::create(const fs::path& default_root_dir, const std::string& name, const std::string& start) {
  if (is_remote(default_root_dir.native()))
    throw UsageError("default_root_dir: a folder of this machine was expected, got ",
                     data::shown_url(default_root_dir.native()),
                     "; checkpoints go to a bucket by the option dirpath of ModelCheckpoint");
  require_local("name", name);
  RunFolder folder;
  folder.path_ = make_next_folder(default_root_dir, name).lexically_normal();
  folder.lock_ = RunLock(folder.path_);
  folder.record_ = new_run_record();
  folder.add_start(start);
  return folder;
}

RunFolder RunFolder::resume(FoundCheckpoint& found, const std::string& start) {
  RunFolder resumed;
  resumed.path_ = found.run_folder.lexically_normal();
  resumed.lock_ = std::move(found.lock);
  resumed.is_resumed_ = true;
  remove_leftovers_of_run(resumed.path_, /*keeps_links=*/false);
  const std::optional<RunRecord> record = read_run_record(resumed.path_);
  resumed.record_ = record ? *record : new_run_record();
  const std::optional<int64_t> stopped_at = step_of_stop_request(found.checkpoint.state);
  if (stopped_at && !found.keeps_stop_request) resumed.record_.trained_on_after = *stopped_at;
  resumed.add_start(start);
  clear_run_requests(resumed.path_);
  fs::remove(resumed.path_ / kSummary);  // from the previous session: this one may be killed
  return resumed;
}

RunFolder RunFolder::of_rank_zero(const fs::path& folder, bool is_resumed) {
  RunFolder known;
  known.path_ = folder;
  known.is_resumed_ = is_resumed;
  return known;
}

void RunFolder::add_start(const std::string& start) {
  if (!start.empty() && !record_.has_start(start)) record_.starts.push_back(start);
  write_run_record(path_, record_);
}

void RunFolder::write_config(std::string_view json) const { write_text_file_atomically(path_ / kConfig, json); }

void RunFolder::note_checkpoint(const fs::path& file) {
  if (record_.id.empty()) return;
  const fs::path folder = fs::absolute(file).lexically_normal().parent_path();
  const fs::path below = folder.lexically_relative(fs::absolute(path_).lexically_normal());
  if (!below.empty() && *below.begin() != "..") return;
  std::vector<std::string>& known = record_.checkpoint_folders;
  if (std::find(known.begin(), known.end(), folder.string()) != known.end()) return;
  known.push_back(folder.string());
  write_run_record(path_, record_);
}

void RunFolder::make_again_if_removed() const {
  std::error_code error;
  if (empty() || fs::exists(path_, error)) return;
  fs::create_directories(path_, error);
  if (error) return;  // the next write says why
  console::warn(path_.string() +
                ": the run's folder was removed during the run; it is made again for what the run "
                "writes at its end");
  write_run_record(path_, record_);
}

void RunFolder::write_summary(const RunResult& result) const {
  if (!empty()) write_run_summary(path_, result);
}

void RunFolder::remove_if_bare() {
  if (empty() || is_resumed_) return;
  std::error_code error;
  fs::directory_iterator entries(path_, error);
  if (error || !std::all_of(begin(entries), end(entries), is_there_before_training)) return;
  fs::remove_all(path_, error);
  *this = RunFolder();
}

}  // namespace levin
