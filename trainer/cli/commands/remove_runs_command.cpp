#include <levin/trainer/checkpoint/run_lock.h>
#include <levin/trainer/cli/commands/commands.h>
#include <levin/trainer/cli/commands/report.h>
#include <levin/trainer/cli/take_flag.h>
#include <levin/trainer/core/state/checkpoint_parts.h>
#include <levin/trainer/core/system/error.h>
#include <levin/trainer/runs/recorded_run.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <system_error>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using runs::CheckpointFile, runs::RecordedRun;

constexpr const char* kGcHelp = R"(levin gc removes checkpoints that nobody will resume from, and asks first.

Usage: levin gc FOLDER [--keep N] [--yes]

Of each run in FOLDER and below that has ended, these stay: the best checkpoint, last.ckpt, and the N (1) that were
written last. Weights, logs and configs stay. Runs that still run or were killed are left alone. --yes does not ask.
)";

constexpr const char* kRmHelp = R"(levin rm removes runs with all of their files, and asks first.

Usage: levin rm RUN... [--yes]

RUN is the folder of a run. One that still runs is refused. --yes does not ask.
)";

struct Removal {
  std::vector<fs::path> paths = {};
  uintmax_t bytes = 0;
};

void refuse_flags(const std::vector<std::string>& arguments, const char* command) {
  for (const std::string& argument : arguments)
    if (argument.starts_with("--")) throw UsageError("levin ", command, ": there is no flag ", argument);
}

/// Returns the checkpoints of a run that may go.
Removal superfluous(const RecordedRun& run, int64_t keep) {
  std::error_code ignored;
  const auto path_of = [&](const CheckpointFile& file) { return run.folder / file.name; };
  std::vector<CheckpointFile> files = run.checkpoints;
  std::ranges::stable_sort(files, std::ranges::greater(),
                           [&](const CheckpointFile& file) { return fs::last_write_time(path_of(file), ignored); });
  const auto best = run.summary.is_object() ? run.summary.value("best_checkpoint", nlohmann::ordered_json()) : nullptr;
  Removal removal;
  int64_t newer = 0;
  for (const CheckpointFile& file : files) {
    const fs::path path = path_of(file);
    const bool is_best = best.is_string() && fs::path(best.get<std::string>()).filename() == path.filename();
    if (path.filename() == "last.ckpt" || is_best) continue;
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
bool agrees(const Removal& removal, bool yes) {
  for (const fs::path& path : removal.paths) std::cout << path.string() << "\n";
  std::cout << removal.paths.size() << " to remove, " << short_number(static_cast<double>(removal.bytes) / 1e6) << " MB"
            << std::endl;
  if (yes) return true;
  std::cout << "remove? [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "yes") return true;
  std::cout << "nothing was removed" << std::endl;
  return false;
}

void remove(const Removal& removal) {
  for (const fs::path& path : removal.paths) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) throw UsageError(path.string(), " cannot be removed: ", error.message());
  }
  std::cout << "removed" << std::endl;
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
  Removal all;
  for (const fs::path& folder : runs::find_run_folders(arguments[0])) {
    const RecordedRun run = runs::read_run(folder);
    if (run.status == "running" || run.status == "killed") continue;  // which may be resumed, with all they have
    const Removal of_run = superfluous(run, keep);
    all.paths.insert(all.paths.end(), of_run.paths.begin(), of_run.paths.end());
    all.bytes += of_run.bytes;
  }
  if (all.paths.empty()) {
    std::cout << "nothing to remove" << std::endl;
    return 0;
  }
  if (agrees(all, yes)) remove(all);
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
  Removal all;
  for (const std::string& argument : arguments) {
    if (runs::read_run(argument).status == "running")
      throw UsageError("levin rm: ", argument, ": still runs, in ", RunLock::holder(argument).value_or("a process"));
    all.paths.emplace_back(argument);
    all.bytes += size_of(argument);
  }
  if (agrees(all, yes)) remove(all);
  return 0;
}

}  // namespace levin::cli
