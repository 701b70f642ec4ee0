#include <levin/core/system/error.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/removal.h>
#include <levin/program/runs/recorded_run.h>
#include <levin/program/runs/run_folders.h>
#include <levin/trainer/run_folder/run_lock.h>

#include <iostream>
#include <system_error>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;

struct RmFlags {
  bool yes = LEVIN_OPTION(yes, false, "Do not ask");
};

uintmax_t size_of(const fs::path& folder) {
  uintmax_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored)) bytes += at->file_size(ignored);
  }
  return bytes;
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

int run_rm(const RmFlags& flags, const Words& words) {
  std::vector<Removal> all;
  for (const std::string& argument : words) {
    runs::require_run_folder(argument);
    ended_runs(argument);
    all.push_back({.run = argument, .paths = {argument}, .bytes = size_of(argument)});
  }
  if (!agrees(all, flags.yes)) return 0;
  for (const Removal& removal : all) remove_run(removal.run);
  std::cout << "removed" << std::endl;
  return 0;
}

}  // namespace

Command rm_command() {
  return make_command(
      {.name = "rm",
       .summary = "Remove runs with all of their files, after asking",
       .usage = "RUN...",
       .about = "RUN is the folder of a run. One that still runs, or has a run inside that does, is refused.",
       .least = 1,
       .most = kAnyNumber},
      run_rm);
}

}  // namespace levin::cli
