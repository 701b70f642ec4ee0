#include <levin/core/state/atomic_file.h>
#include <levin/data/remote/output_place.h>
#include <levin/program/commands/commands.h>
#include <levin/program/runs/recorded_run.h>
#include <levin/program/runs/report.h>
#include <levin/program/runs/run_folders.h>

#include <iostream>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using runs::RecordedRun;

struct ReportFlags {
  std::string out = LEVIN_OPTION(out, "report.html", "The file; - is standard output");
};

int run_report(const ReportFlags& flags, const Words& words) {
  require_local("--out", flags.out);
  const fs::path out = flags.out;
  std::vector<RecordedRun> all;
  for (const std::string& argument : words) {
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

}  // namespace

Command report_command() {
  return make_command(
      {.name = "report",
       .summary = "Write an HTML page that shows runs: curves, checkpoints, configs and their differences",
       .usage = "RUN...",
       .about = R"(The page has curves with zoom and smoothing, and needs no network. RUN is the folder of a run, or
one with several below it; runs that still run or were killed will do.)",
       .least = 1,
       .most = kAnyNumber,
       .values = {{"out", "FILE"}}},
      run_report);
}

}  // namespace levin::cli
