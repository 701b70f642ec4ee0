#include <levin/trainer/run_folder/find_checkpoint.h>
#include <levin/core/ranks/gather_states.h>
#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/state/find_state_dict.h>
#include <levin/core/state/state_file.h>
#include <levin/core/state/unread_file_error.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>
#include <levin/trainer/checkpoint/lazy_tensor.h>
#include <levin/trainer/run_folder/read_run_json.h>
#include <levin/trainer/run_folder/remote_checkpoint.h>
#include <levin/trainer/run_folder/run_record.h>
#include <levin/trainer/run_folder/run_versions.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace levin {
namespace fs = std::filesystem;
namespace {

/// A checkpoint file that was found. `run`: the run id that it must have if its folder may hold other runs' files.
struct Candidate {
  fs::file_time_type time = {};
  fs::path file = {};
  std::string run = {};
};

/// Returns the entries of a folder. If the folder cannot be read, warns and returns the entries so far.
std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(*entry);
  if (error && error != std::errc::no_such_file_or_directory)
    console::warn(c10::str(folder.string(), " cannot be read, and checkpoints in it are not found: ", error.message()));
  return entries;
}

void add_candidate(const fs::directory_entry& entry, const std::string& run, std::vector<Candidate>& found) {
  if (entry.path().extension() != ".ckpt") return;
  std::error_code gone;
  const fs::file_time_type time = entry.last_write_time(gone);
  if (!gone) found.push_back({time, entry.path(), run});
}

/// Adds the checkpoints below `folder`, and those that the runs in it have saved elsewhere.
void add_checkpoints_below(const fs::path& folder, std::vector<Candidate>& found) {
  if (const std::optional<RunRecord> record = read_run_record(folder))
    for (const std::string& elsewhere : record->checkpoint_folders)
      for (const fs::directory_entry& entry : entries_of(elsewhere)) add_candidate(entry, record->id, found);
  for (const fs::directory_entry& entry : entries_of(folder)) {
    std::error_code gone;
    if (entry.is_directory(gone) && !entry.is_symlink(gone))
      add_checkpoints_below(entry.path(), found);
    else
      add_candidate(entry, "", found);
  }
}

/// Returns the checkpoints of `folder`, newest first.
std::vector<Candidate> candidates_of(const fs::path& folder) {
  std::vector<Candidate> found;
  add_checkpoints_below(folder, found);
  std::sort(found.begin(), found.end(),
            [](const Candidate& a, const Candidate& b) { return std::tie(a.time, a.file) > std::tie(b.time, b.file); });
  return found;
}

std::string run_id_of(const State& checkpoint) {
  const State* own = checkpoint.is_dict() ? checkpoint.find("levin") : nullptr;
  const State* run = own != nullptr ? own->find("run") : nullptr;
  return run != nullptr && !run->is_none() ? run->to_string() : "";
}

bool serves(const State& state, CheckpointUse use) {
  if (use == CheckpointUse::Weights) return find_state_dict(state) != nullptr;
  return state.is_dict() && state.contains("optimizer_states");
}

/// Returns whether this is a folder, and no link to one.
bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

/// Returns the folders in `runs` that the fit `start` has written, newest first.
std::vector<fs::path> own_run_folders(const fs::path& runs, const std::string& start) {
  std::vector<std::pair<int64_t, fs::path>> found;
  std::error_code error;
  if (!fs::is_directory(runs, error)) return {};
  for (const fs::directory_entry& entry : entries_of(runs)) {
    const std::optional<int64_t> version = version_of(entry.path());
    const std::optional<RunRecord> record = version ? read_run_record(entry.path()) : std::nullopt;
    if (record && record->has_start(start)) found.emplace_back(*version, entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> folders;
  for (auto& [version, folder] : found) folders.push_back(std::move(folder));
  return folders;
}

/// Removes what killed runs have left of files that they were writing. A run that ended before its first checkpoint is
/// not continued, so that nothing else would remove it there.
void remove_leftovers_of_runs(const fs::path& runs) {
  std::error_code error;
  if (!fs::is_directory(runs, error)) return;
  for (const fs::directory_entry& entry : entries_of(runs)) {
    const fs::path checkpoints = entry.path() / "checkpoints";
    if (!version_of(entry.path()) || !is_folder(entry.path()) || RunLock::holder(entry.path())) continue;
    remove_leftovers_of_run(entry.path());
    if (is_folder(checkpoints)) remove_leftover_parts(checkpoints);
  }
}

JoinTensor join_of(const FindRequest& request) { return request.lazily ? JoinTensor(lazy_tensor) : JoinTensor(); }

/// Locks the run's folder before it looks for the newest checkpoint, because the previous holder may have saved
/// another.
std::optional<FoundCheckpoint> continue_in(const fs::path& run_folder, const JoinTensor& join) {
  FoundCheckpoint found{.run_folder = run_folder, .resumes_in_place = true, .lock = RunLock(run_folder)};
  std::optional<ReadCheckpoint> newest = newest_checkpoint(run_folder, CheckpointUse::Resume, join);
  if (!newest) return {};
  found.checkpoint = std::move(*newest);
  return found;
}

/// Returns whether a fit has trained on from this checkpoint, after its run had stopped. That fit may have been killed
/// before it saved another.
bool was_trained_on(const FoundCheckpoint& found) {
  const std::optional<int64_t> step = step_of_stop_request(found.checkpoint.state);
  const std::optional<RunRecord> record = step ? read_run_record(found.run_folder) : std::nullopt;
  return record && *step <= record->trained_on_after;
}

/// Finds the newest checkpoint of the restarted fit, in the newest of its folders that is not locked. A locked folder
/// belongs to another process with the same start: a job that runs one command twice.
std::optional<FoundCheckpoint> find_own(const FindRequest& request) {
  for (const fs::path& folder : own_run_folders(request.runs, request.restarted)) {
    if (const std::optional<std::string> holder = RunLock::holder(folder)) {
      console::warn(c10::str("the run in ", folder.string(), " is not continued: it is being written by ", *holder));
      continue;
    }
    std::optional<FoundCheckpoint> found = continue_in(folder, join_of(request));
    if (found) found->keeps_stop_request = !was_trained_on(*found);
    return found;
  }
  return {};
}

std::optional<FoundCheckpoint> newest_of(const FindRequest& request, const fs::path& folder) {
  std::optional<ReadCheckpoint> newest = newest_checkpoint(folder, request.use, join_of(request));
  if (!newest) return {};
  fs::path run_folder = run_folder_of(*newest, request.runs);
  if (request.use == CheckpointUse::Resume && !run_folder.empty())
    if (std::optional<FoundCheckpoint> found = continue_in(run_folder, join_of(request))) return found;
  return FoundCheckpoint{.checkpoint = std::move(*newest), .run_folder = std::move(run_folder)};
}

std::optional<FoundCheckpoint> read_file(const FindRequest& request, const fs::path& file) {
  FoundCheckpoint found{.checkpoint = {file, load_state(file, {.join = join_of(request)})}};
  found.run_folder = run_folder_of(found.checkpoint, request.runs);
  return found;
}

/// Finds the checkpoint that `ckpt_path` names.
std::optional<FoundCheckpoint> find_named(const FindRequest& request) {
  const bool is_elsewhere = is_on_server(request.ckpt_path);
  const std::string wanted = is_elsewhere ? request.ckpt_path : local_path(request.ckpt_path).string();
  if (wanted.empty()) return {};
  if (wanted == "last") return newest_of(request, request.runs);
  if (wanted == "best") {
    const std::optional<ReadCheckpoint> newest =
        newest_checkpoint(request.runs, CheckpointUse::Resume, tensor_without_memory);
    if (!newest) throw UsageError("ckpt_path \"best\": there is no checkpoint below ", request.runs.string());
    return read_file(request, best_model_path(*newest));
  }
  if (is_elsewhere) {
    const std::string url = remote_checkpoint(wanted);
    std::optional<FoundCheckpoint> found = read_file(request, local_checkpoint(url));
    found->url = url;
    return found;
  }
  std::error_code error;
  if (!fs::is_directory(wanted, error)) return read_file(request, wanted);
  std::optional<FoundCheckpoint> found = newest_of(request, wanted);
  if (!found)
    throw UsageError("ckpt_path: there is no ", request.use == CheckpointUse::Resume ? "resumable " : "",
                     "checkpoint in the folder ", wanted);
  return found;
}

}  // namespace

std::optional<ReadCheckpoint> newest_checkpoint(const fs::path& folder, CheckpointUse use, const JoinTensor& join) {
  std::string unread;
  for (const Candidate& candidate : candidates_of(folder)) {
    try {
      State state = load_state(candidate.file, {.join = join});
      if (!candidate.run.empty() && run_id_of(state) != candidate.run) continue;
      if (serves(state, use)) return ReadCheckpoint{candidate.file, std::move(state)};
    } catch (const UsageError& error) {
      console::warn(c10::str("an older checkpoint is looked for: ", error.what()));
      if (dynamic_cast<const UnreadFileError*>(&error) != nullptr && unread.empty()) unread = error.what();
    }
  }
  // A run that began anew would be the loss of the one that is there.
  if (!unread.empty())
    throw UsageError(unread, "; there is no other checkpoint below ", folder.string(),
                     ". Try again once the system reads the file, or start again without ckpt_path");
  return {};
}

fs::path best_model_path(const ReadCheckpoint& newest) {
  const State* callbacks = newest.state.find("callbacks");
  if (callbacks != nullptr)
    for (const auto& [key, state] : callbacks->to_dict()) {
      if (to_text(key).rfind("ModelCheckpoint", 0) != 0 || state.at("monitor").is_none()) continue;
      const fs::path best = state.at("best_model_path").to_string();
      if (best.empty()) continue;
      if (!fs::exists(best))
        throw UsageError("ckpt_path \"best\": ", newest.file.string(), " names ", best.string(),
                         " as the best, and that file is gone");
      return best;
    }
  throw UsageError("ckpt_path \"best\": no ModelCheckpoint of the run that wrote ", newest.file.string(),
                   " has a monitor, the metric that says which is the best; give it one, or choose \"last\" or a file");
}

fs::path run_folder_of(const ReadCheckpoint& checkpoint, const fs::path& runs) {
  const fs::path file = checkpoint.file.lexically_normal();
  for (fs::path folder = file.parent_path(); !folder.empty(); folder = folder.parent_path()) {
    if (version_of(folder) || fs::exists(folder / kRunRecordFile)) return folder;
    if (folder == folder.root_path()) break;
  }
  const std::string id = run_id_of(checkpoint.state);
  std::error_code error;
  if (id.empty() || !fs::is_directory(runs, error)) return {};
  for (const fs::directory_entry& entry : entries_of(runs)) {
    const std::optional<RunRecord> record = read_run_record(entry.path());
    if (record && record->id == id) return entry.path().lexically_normal();
  }
  return {};
}

bool ended_in_order(const fs::path& run_folder) {
  const nlohmann::json summary = read_run_json(run_folder / "summary.json");
  return summary.is_object() && summary.value("status", "failed") != "failed";
}

std::optional<int64_t> step_of_stop_request(const State& checkpoint) {
  const State* const own = checkpoint.is_dict() ? checkpoint.find("levin") : nullptr;
  const State* const reason = own != nullptr ? own->find("stop_reason") : nullptr;
  if (reason == nullptr || reason->is_none()) return {};
  return own->at("trainer").at("global_step").to_int();
}

std::optional<FoundCheckpoint> find_checkpoint(const FindRequest& request) {
  if (request.use == CheckpointUse::Resume && (request.ckpt_path == "last" || !request.restarted.empty()))
    remove_leftovers_of_runs(request.runs);
  if (!request.restarted.empty())
    if (std::optional<FoundCheckpoint> own = find_own(request)) return own;
  std::optional<FoundCheckpoint> found = find_named(request);
  if (found && request.use == CheckpointUse::Resume && !found->run_folder.empty())
    found->keeps_stop_request = !ended_in_order(found->run_folder) && !was_trained_on(*found);
  return found;
}

std::optional<FoundCheckpoint> find_checkpoint(const FindRequest& request, Comm& comm) {
  std::optional<FoundCheckpoint> found;
  if (comm.is_global_zero()) found = find_checkpoint(request);
  if (comm.processes() == 1) return found;
  nlohmann::json told;
  if (found)
    told = {{"file", found->checkpoint.file.string()},
            {"url", found->url},
            {"run_folder", found->run_folder.string()},
            {"continues_in_folder", found->resumes_in_place},
            {"keeps_stop_request", found->keeps_stop_request}};
  told = nlohmann::json::parse(broadcast_text(told.dump(), comm));
  if (comm.is_global_zero() || told.is_null()) return found;
  found.emplace();
  found->url = told["url"].get<std::string>();
  const fs::path file = found->url.empty() ? fs::path(told["file"].get<std::string>()) : local_checkpoint(found->url);
  found->checkpoint = {file, load_state(file, {.join = join_of(request)})};
  found->run_folder = told["run_folder"].get<std::string>();
  found->resumes_in_place = told["continues_in_folder"];
  found->keeps_stop_request = told["keeps_stop_request"];
  return found;
}

}  // namespace levin
