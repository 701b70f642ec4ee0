#include <levin/core/system/json_text.h>
#include <levin/program/cli/report.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/printable_table.h>
#include <levin/program/runs/recorded_run.h>
#include <levin/program/runs/run_folders.h>

#include <algorithm>
#include <chrono>
#include <iostream>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using runs::RecordedRun;

struct LsFlags {
  bool json = LEVIN_OPTION(json, false, "Print JSON, with epochs from 0, as in the run's files");
};

/// Returns "3 min" and the like.
std::string age_text(double seconds) {
  const std::pair<double, const char*> kUnits[] = {{86400, " d"}, {3600, " h"}, {60, " min"}};
  for (const auto& [length, unit] : kUnits)
    if (seconds >= length) return std::to_string(static_cast<int64_t>(seconds / length)) + unit;
  return std::to_string(static_cast<int64_t>(std::max(seconds, 0.0))) + " s";
}

double age_of(const RecordedRun& run) {
  return std::chrono::duration<double>(fs::file_time_type::clock::now() - run.changed).count();
}

std::string best_text(const RecordedRun& run) {
  const auto best = run.best();
  if (!best) return "-";
  return best->monitor.metric + " " + short_number(best->value) + " (step " + std::to_string(best->step) + ")";
}

Json json_of(const RecordedRun& run) {
  Json json = {{"folder", run.folder.string()},
               {"status", run.status},
               {"epoch", run.epoch},
               {"step", run.step},
               {"seconds", run.seconds},
               {"age_seconds", age_of(run)},
               {"best", runs::best_json(run.best())},
               {"checkpoints", Json::array()},
               {"problems", run.problems}};
  for (const runs::CheckpointFile& file : run.checkpoints)
    json["checkpoints"].push_back({{"file", file.name}, {"bytes", file.bytes}});
  return json;
}

int run_ls(const LsFlags& flags, const Words& words) {
  const fs::path root = words.empty() ? "." : words[0];
  runs::require_folder("levin ls: ", root);
  Json list = Json::array();
  Table table = {{"RUN", "STATUS", "EPOCH", "STEP", "BEST", "WRITTEN"}};
  std::vector<std::string> problems;
  for (const fs::path& folder : runs::find_run_folders(root)) {
    const RecordedRun run = runs::read_run(folder);
    list.push_back(json_of(run));
    table.push_back({folder.lexically_normal().string(), run.status, std::to_string(run.epoch + 1),
                     std::to_string(run.step), best_text(run), age_text(age_of(run)) + " ago"});
    for (const std::string& problem : run.problems) problems.push_back(folder.string() + ": " + problem);
  }
  if (flags.json) {
    std::cout << json_text(list, 2) << std::endl;
    return 0;
  }
  if (table.size() == 1)
    std::cout << "no runs in " << root.string() << "\n";
  else
    print_printable(table);
  for (const std::string& problem : problems) print_printable(problem);
  std::cout.flush();
  return 0;
}

}  // namespace

Command ls_command() {
  return make_command(
      {.name = "ls",
       .summary = "List runs: status, steps, best metric, age; also those that run, and those that were killed",
       .usage = "[FOLDER]",
       .about =
           R"(Lists the runs in a folder and below it. Each line has the folder, the status (running, completed, stopped,
failed, killed: its process died), the epoch (from 1, as fit prints it) and step, the best value of what the run is
judged by (the monitor of its ModelCheckpoint, else val_loss, else train_loss), and how long ago something was written.)",
       .most = 1},
      run_ls);
}

}  // namespace levin::cli
