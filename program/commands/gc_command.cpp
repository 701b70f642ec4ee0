#include <levin/core/state/checkpoint_parts.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/removal.h>
#include <levin/program/runs/recorded_run.h>
#include <levin/program/runs/run_folders.h>
#include <levin/trainer/run_folder/run_lock.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <utility>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using runs::CheckpointFile, runs::RecordedRun;

struct GcFlags {
  int64_t keep = LEVIN_OPTION(keep, 1, "Checkpoints to keep of each run: those that were written last", {.min = 0});
  bool yes = LEVIN_OPTION(yes, false, "Do not ask");
};

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

int run_gc(const GcFlags& flags, const Words& words) {
  runs::require_folder("levin gc: ", words[0]);
  std::vector<Removal> all;
  for (const fs::path& folder : runs::find_run_folders(words[0])) {
    const RecordedRun run = runs::read_run(folder);
    Removal of_run = superfluous(run, flags.keep);
    if (run.status != "running" && !of_run.paths.empty()) all.push_back(std::move(of_run));
  }
  if (all.empty()) {
    std::cout << "nothing to remove" << std::endl;
    return 0;
  }
  if (!agrees(all, flags.yes)) return 0;
  for (const Removal& shown : all) {
    // The run may have been continued while the question stood there.
    if (RunLock::holder(shown.run)) {
      std::cout << shown.run.string() << " runs again, and is left alone" << std::endl;
      continue;
    }
    const RunLock lock(shown.run);
    const std::vector<fs::path> still = superfluous(runs::read_run(shown.run), flags.keep).paths;
    for (const fs::path& path : shown.paths)
      if (std::ranges::find(still, path) != still.end()) remove_path(path);
  }
  std::cout << "removed" << std::endl;
  return 0;
}

}  // namespace

Command gc_command() {
  return make_command(
      {.name = "gc",
       .summary = "Remove checkpoints that nobody will resume from, after asking",
       .usage = "FOLDER",
       .about =
           R"(Of each run in FOLDER and below that has ended, these stay: the best checkpoint, last.ckpt, and those that were
written last. Weights, logs, configs, links and what links in the run's folder point to stay. Runs that still run or
were killed are left alone.)",
       .least = 1,
       .most = 1},
      run_gc);
}

}  // namespace levin::cli
