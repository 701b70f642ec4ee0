#include <levin/program/cli/report.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/printable_table.h>
#include <levin/program/runs/recorded_run.h>
#include <levin/program/runs/text_chart.h>
#include <levin/trainer/run_folder/config_changes.h>

#include <iostream>
#include <set>

namespace levin::cli {
namespace {

using runs::RecordedRun;

std::string shown(const std::optional<double>& value) { return value ? short_number(*value) : "-"; }

int run_compare(const NoOptions& /*flags*/, const Words& words) {
  const RecordedRun first = runs::read_run(words[0]), second = runs::read_run(words[1]);
  std::cout << "config, " << words[1] << " (" << words[0] << "):\n";
  const std::vector<std::string> changes = config_changes(first.config.dump(), second.config.dump());
  for (const std::string& change : changes) print_printable("  " + change);
  if (!first.config.is_object() || !second.config.is_object())
    std::cout << "  one of the runs has no config.json\n";
  else if (changes.empty())
    std::cout << "  the same\n";
  Table table = {{"", words[0], words[1]},
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
  print_printable(table);
  for (const RecordedRun* run : {&first, &second})
    for (const std::string& problem : run->problems) print_printable(run->folder.string() + ": " + problem);
  std::cout.flush();
  return 0;
}

}  // namespace

Command compare_command() {
  return make_command({.name = "compare",
                       .summary = "Show how two runs differ, in config and metrics",
                       .usage = "RUN RUN",
                       .about = "RUN is the folder of a run; one that still runs or was killed will do.",
                       .least = 2,
                       .most = 2},
                      run_compare);
}

}  // namespace levin::cli
