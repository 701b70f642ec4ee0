#include <levin/core/state/checkpoint_parts.h>
#include <levin/core/system/error.h>
#include <levin/program/cli/report.h>
#include <levin/program/cli/take_flag.h>
#include <levin/program/commands/commands.h>
#include <levin/program/runs/recorded_run.h>
#include <levin/trainer/run_folder/run_lock.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using runs::CheckpointFile, runs::RecordedRun;

constexpr const char* kGcHelp = R"(levin gc removes checkpoints that nobody will resume from, and asks first.

Usage: levin gc FOLDER [--keep N] [--yes]

Of each run in FOLDER and below that has ended, these stay: the best checkpoint, last.ckpt, and the N (1) that were
written last. Weights, logs, configs, links and what links in the run's folder point to stay. Runs that still run or
were killed are left alone. --yes does not ask.
)";

constexpr const char* kRmHelp = R"(levin rm removes runs with all of their files, and asks first.

Usage: levin rm RUN... [--yes]

RUN is the folder of a run. One that still runs, or has a run inside that does, is refused. --yes does not ask.
)";

struct Removal {
  fs::path run = {};
  std::vector<fs::path> paths = {};
  uintmax_t bytes = 0;
};

void refuse_flags(const std::vector<std::string>& arguments, const char* command) {
  for (const std::string& argument : arguments)
    if (argument.starts_with("--")) throw UsageError("levin ", command, ": there is no flag ", argument);
}

/// Returns the checkpoints of a run that may go: nothing while it runs, and nothing of one that was killed, which may
/// be resumed with all it has.
Removal superfluous(const RecordedRun& run, int64_t keep) {
  Removal removal{.run = run.folder};
  if (!run.summary.is_object()) return removal;
  std::error_code ignored;
  const auto path_of = [&](const CheckpointFile& file) { return run.folder / file.name; };
  std::vector<CheckpointFile> files = run.checkpoints;
  std::ranges::stable_sort(files, std::ranges::greater(),
                           [&](const CheckpointFile& file) { return fs::last_write_time(path_of(file), ignored); });
  const auto best = run.summary.value("best_checkpoint", nlohmann::ordered_json());
  std::set<fs::path> linked;
  for (const CheckpointFile& file : files)
    if (file.is_link) linked.insert(fs::weakly_canonical(path_of(file), ignored));
  int64_t newer = 0;
  for (const CheckpointFile& file : files) {
    const fs::path path = path_of(file);
    const bool is_best = best.is_string() && fs::path(best.get<std::string>()).filename() == path.filename();
    if (file.is_link || path.filename() == "last.ckpt" || is_best) continue;
    if (linked.contains(fs::weakly_canonical(path, ignored))) continue;
    if (newer++ < keep) continue;
    removal.paths.push_back(path);  // the index first: without it there is no checkpoint
    for (const CheckpointPart& part : parts_beside(path)) removal.paths.push_back(part.file);
    removal.bytes += file.bytes;
  }
  return removal;
}

uintmax_t size_of(const fs::path& folder) {
  uintmax_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored)) bytes += at->file_size(ignored);
  }
  return bytes;
}

/// Prints what would go; returns whether the user agrees.
bool agrees(const std::vector<Removal>& removals, bool yes) {
  size_t count = 0;
  uintmax_t bytes = 0;
  for (const Removal& removal : removals) {
    for (const fs::path& path : removal.paths) std::cout << path.string() << "\n";
    count += removal.paths.size();
    bytes += removal.bytes;
  }
  std::cout << count << " to remove, " << short_number(static_cast<double>(bytes) / 1e6) << " MB" << std::endl;
  if (yes) return true;
  std::cout << "remove? [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "yes") return true;
  std::cout << "nothing was removed" << std::endl;
  return false;
}

void remove_path(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw UsageError(path.string(), " cannot be removed: ", error.message());
}

/// Throws levin::UsageError if the run, or one inside, still runs. Returns the folders of all of these.
std::vector<fs::path> ended_runs(const fs::path& run) {
  const std::vector<fs::path> folders = runs::run_folders_inside(run);
  for (const fs::path& folder : folders)
    if (const auto holder = RunLock::holder(folder))
      throw UsageError("levin rm: ", folder.string(), ": still runs, in ", *holder);
  return folders;
}

/// Removes a run with those inside. Nobody can continue them meanwhile.
void remove_run(const fs::path& run) {
  std::vector<RunLock> locks;
  for (const fs::path& folder : ended_runs(run)) locks.emplace_back(folder);
  remove_path(run);
}

}  // namespace

int gc_command(std::vector<std::string> arguments) {
  if (take_switch(arguments, "--help")) {
    std::cout << kGcHelp << std::flush;
    return 0;
  }
  const bool yes = take_switch(arguments, "--yes");
  const int64_t keep = take_count(arguments, "--keep", /*least=*/0).value_or(1);
  refuse_flags(arguments, "gc");
  if (arguments.size() != 1) throw UsageError("levin gc: expected one folder; `levin gc --help` says more");
  if (!fs::is_directory(arguments[0])) throw UsageError("levin gc: ", arguments[0], ": there is no such folder");
  std::vector<Removal> all;
  for (const fs::path& folder : runs::find_run_folders(arguments[0])) {
    const RecordedRun run = runs::read_run(folder);
    Removal of_run = superfluous(run, keep);
    if (run.status != "running" && !of_run.paths.empty()) all.push_back(std::move(of_run));
  }
  if (all.empty()) {
    std::cout << "nothing to remove" << std::endl;
    return 0;
  }
  if (!agrees(all, yes)) return 0;
  for (const Removal& shown : all) {
    // The run may have been continued while the question stood there.
    if (RunLock::holder(shown.run)) {
      std::cout << shown.run.string() << " runs again, and is left alone" << std::endl;
      continue;
    }
    const RunLock lock(shown.run);
    const std::vector<fs::path> still = superfluous(runs::read_run(shown.run), keep).paths;
    for (const fs::path& path : shown.paths)
      if (std::ranges::find(still, path) != still.end()) remove_path(path);
  }
  std::cout << "removed" << std::endl;
  return 0;
}

int rm_command(std::vector<std::string> arguments) {
  if (take_switch(arguments, "--help")) {
    std::cout << kRmHelp << std::flush;
    return 0;
  }
  const bool yes = take_switch(arguments, "--yes");
  refuse_flags(arguments, "rm");
  if (arguments.empty()) throw UsageError("levin rm: name the folder of a run; `levin rm --help` says more");
  std::vector<Removal> all;
  for (const std::string& argument : arguments) {
    runs::require_run_folder(argument);
    ended_runs(argument);
    all.push_back({.run = argument, .paths = {argument}, .bytes = size_of(argument)});
  }
  if (!agrees(all, yes)) return 0;
  for (const Removal& removal : all) remove_run(removal.run);
  std::cout << "removed" << std::endl;
  return 0;
}

}  // namespace levin::cli
