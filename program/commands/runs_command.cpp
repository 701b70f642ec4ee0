#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/program/cli/report.h>
#include <levin/program/cli/take_flag.h>
#include <levin/program/cli/text_table.h>
#include <levin/program/commands/commands.h>
#include <levin/program/runs/recorded_run.h>
#include <levin/program/runs/report.h>
#include <levin/program/runs/text_chart.h>
#include <levin/trainer/run_folder/config_changes.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using runs::RecordedRun;

constexpr const char* kLsHelp = R"(levin ls lists the runs in a folder and below it.

Usage: levin ls [FOLDER] [--json]

Each line has the folder, the status (running, completed, stopped, failed, killed: its process died), the epoch (from
1, as fit prints it; from 0 with --json, as in the run's files) and step, the best value of what the run is judged by
(the monitor of its ModelCheckpoint, else val_loss, else train_loss), and how long ago something was written.
)";

constexpr const char* kCompareHelp = R"(levin compare prints how two runs differ: their configs, and their metrics.

Usage: levin compare RUN RUN

RUN is the folder of a run; one that still runs or was killed will do.
)";

constexpr const char* kReportHelp =
    R"(levin report writes one HTML file that shows runs: curves with zoom and smoothing, last values, checkpoints, configs and
how they differ. The file needs no network.

Usage: levin report RUN... [--out report.html]

--out - writes to standard output. RUN is the folder of a run, or one with several below it; runs that still run or
were killed will do.
)";

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

/// Prints what a run's files say, which anybody may have written, without the characters that control a terminal.
void print_line(const std::string& line) { std::cout << runs::printable(line) << "\n"; }
void print_cells(Table table) {
  for (std::vector<std::string>& row : table)
    for (std::string& cell : row) cell = runs::printable(cell);
  print_table(std::cout, table);
}

std::string shown(const std::optional<double>& value) { return value ? short_number(*value) : "-"; }

}  // namespace

int ls_command(std::vector<std::string> arguments) {
  if (take_switch(arguments, "--help")) {
    std::cout << kLsHelp << std::flush;
    return 0;
  }
  const bool as_json = take_switch(arguments, "--json");
  if (arguments.size() > 1 || (arguments.size() == 1 && arguments[0].starts_with("--")))
    throw UsageError("levin ls: expected one folder at most; `levin ls --help` says more");
  const fs::path root = arguments.empty() ? "." : arguments[0];
  if (!fs::is_directory(root)) throw UsageError("levin ls: ", root.string(), ": there is no such folder");
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
  if (as_json) {
    std::cout << json_text(list, 2) << std::endl;
    return 0;
  }
  if (table.size() == 1)
    std::cout << "no runs in " << root.string() << "\n";
  else
    print_cells(table);
  for (const std::string& problem : problems) print_line(problem);
  std::cout.flush();
  return 0;
}

int compare_command(std::vector<std::string> arguments) {
  if (take_switch(arguments, "--help")) {
    std::cout << kCompareHelp << std::flush;
    return 0;
  }
  if (arguments.size() != 2) throw UsageError("levin compare: expected the folders of two runs");
  const RecordedRun first = runs::read_run(arguments[0]), second = runs::read_run(arguments[1]);
  std::cout << "config, " << arguments[1] << " (" << arguments[0] << "):\n";
  const std::vector<std::string> changes = config_changes(first.config.dump(), second.config.dump());
  for (const std::string& change : changes) print_line("  " + change);
  if (!first.config.is_object() || !second.config.is_object())
    std::cout << "  one of the runs has no config.json\n";
  else if (changes.empty())
    std::cout << "  the same\n";
  Table table = {{"", arguments[0], arguments[1]},
                 {"status", first.status, second.status},
                 {"epoch", std::to_string(first.epoch + 1), std::to_string(second.epoch + 1)},
                 {"step", std::to_string(first.step), std::to_string(second.step)},
                 {"seconds", short_number(first.seconds), short_number(second.seconds)}};
  std::set<std::string> names;
  for (const RecordedRun* run : {&first, &second})
    for (const auto& [name, series] : run->metrics) names.insert(name);
  for (const std::string& name : names)
    table.push_back({name + ", last", shown(first.last(name)), shown(second.last(name))});
  if (const auto monitor = first.monitor() ? first.monitor() : second.monitor()) {
    const auto best_of = [&](const RecordedRun& run) {
      const auto best = run.best(*monitor);
      return best ? short_number(best->value) + " (step " + std::to_string(best->step) + ")" : std::string("-");
    };
    table.push_back({monitor->metric + ", best", best_of(first), best_of(second)});
  }
  print_cells(table);
  for (const RecordedRun* run : {&first, &second})
    for (const std::string& problem : run->problems) print_line(run->folder.string() + ": " + problem);
  std::cout.flush();
  return 0;
}

int report_command(std::vector<std::string> arguments) {
  if (take_switch(arguments, "--help")) {
    std::cout << kReportHelp << std::flush;
    return 0;
  }
  const fs::path out = take_flag(arguments, "--out").value_or("report.html");
  if (arguments.empty()) throw UsageError("levin report: name the folder of a run; `levin report --help` says more");
  std::vector<RecordedRun> all;
  for (const std::string& argument : arguments) {
    if (argument.starts_with("--")) throw UsageError("levin report: there is no flag ", argument);
    const std::vector<fs::path> folders = runs::find_run_folders(argument);
    if (folders.empty()) all.push_back(runs::read_run(argument));  // which says what is wrong
    for (const fs::path& folder : folders) all.push_back(runs::read_run(folder));
  }
  if (out == "-" || out == "/dev/stdout") {
    std::cout << runs::report_html(all);
    return 0;
  }
  write_text_file_atomically(followed(out), runs::report_html(all));
  std::cout << out.string() << ": " << all.size() << (all.size() == 1 ? " run" : " runs") << std::endl;
  return 0;
}

}  // namespace levin::cli
