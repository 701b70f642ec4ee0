#include <levin/callbacks/progress_format.h>
#include <levin/core/system/error.h>
#include <levin/program/cli/report.h>
#include <levin/program/commands/commands.h>
#include <levin/program/commands/live_view.h>
#include <levin/program/runs/recorded_run.h>
#include <levin/program/runs/run_folders.h>
#include <levin/program/runs/text_chart.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <thread>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using runs::RecordedRun;
using Clock = std::chrono::steady_clock;

struct WatchFlags {
  int64_t every = LEVIN_OPTION(every, 2, "Seconds between two looks", {.min = 1});
  bool once = LEVIN_OPTION(once, false, "Do not wait");
  bool stay = LEVIN_OPTION(stay, false, "In a terminal, stay until q, also when the runs have ended");
  bool plain =
      LEVIN_OPTION(plain, false, "Print each new row of metrics as a line, as where the output is no terminal");
};

/// Returns the folder of the run that was written last, or `root` itself if it is one.
fs::path newest_run(const fs::path& root) {
  runs::require_folder("levin watch: ", root);
  fs::path newest;
  auto changed = fs::file_time_type::min();
  for (const fs::path& folder : runs::find_run_folders(root)) {
    const RecordedRun run = runs::read_run(folder);
    if (newest.empty() || run.changed > changed) {
      newest = folder;
      changed = run.changed;
    }
  }
  if (newest.empty()) throw UsageError("levin watch: there is no run in ", root.string());
  return newest;
}

bool runs_still(const RecordedRun& run) { return run.status == "running"; }

int code_of(const std::vector<RecordedRun>& runs) {
  return std::ranges::any_of(runs,
                             [](const RecordedRun& run) { return run.status == "failed" || run.status == "killed"; });
}

/// Prints rows as lines, each once.
class PrintedRows {
 public:
  /// `name` stands before each line.
  explicit PrintedRows(std::string name) : name_(std::move(name)) {}

  void print_new(const RecordedRun& run) {
    std::map<int64_t, std::string> by_step;
    for (const auto& [name, series] : run.metrics) {
      size_t& printed = printed_[name];
      if (printed > series.values.size()) printed = 0;  // the run was resumed, and its metrics cut back
      for (; printed < series.values.size(); ++printed)
        by_step[series.steps[printed]] += "  " + runs::printable(name) + " " + short_number(series.values[printed]);
    }
    for (const auto& [step, text] : by_step) std::cout << name_ << "step " << step << text << "\n";
    std::cout.flush();
  }
  void print_end(const RecordedRun& run) const {
    std::cout << name_ << runs::status_line(run) << "\n";
    for (const std::string& problem : run.problems) std::cout << name_ << runs::printable(problem) << "\n";
    std::cout.flush();
  }

 private:
  std::string name_;
  std::map<std::string, size_t> printed_ = {};
};

/// Prints new rows of runs until all have ended.
int print_runs(const WatchFlags& flags, const std::vector<fs::path>& folders) {
  std::vector<PrintedRows> rows;
  std::vector<RecordedRun> all;
  for (const fs::path& folder : folders) {
    rows.emplace_back(folders.size() == 1 ? "" : runs::printable(folder.lexically_normal().string()) + ": ");
    all.push_back(runs::read_run(folder));
  }
  for (Clock::duration pause = std::chrono::seconds(flags.every);;) {
    for (size_t i = 0; i < all.size(); ++i) rows[i].print_new(all[i]);
    if (flags.once || std::ranges::none_of(all, runs_still)) break;
    std::this_thread::sleep_for(pause);
    const Clock::time_point begin = Clock::now();
    for (RecordedRun& run : all)
      if (runs_still(run)) run = runs::read_run(run.folder);
    // A long run takes a while to read: most of the time the processor is the run's.
    pause = std::max<Clock::duration>(std::chrono::seconds(flags.every), 9 * (Clock::now() - begin));
  }
  for (size_t i = 0; i < all.size(); ++i) rows[i].print_end(all[i]);
  return code_of(all);
}

/// Shows runs on a screen of their own until they end or the user leaves. What they were at the end stays in the
/// terminal.
int show_runs(const WatchFlags& flags, const std::vector<fs::path>& folders) {
  LiveView view(std::chrono::seconds(flags.every));
  for (const fs::path& folder : folders) view.add(folder);
  if (!flags.once && (flags.stay || !view.have_ended())) {
    runs::Screen screen;
    while (runs::Screen::ended_by() == 0 && (flags.stay || !view.have_ended()))
      if (view.turn(screen) == LiveView::Wish::Leave) break;
    if (const int signal_number = runs::Screen::ended_by(); signal_number != 0) return 128 + signal_number;
  }
  print_lines(view.last_picture());
  return code_of(view.runs());
}

int run_watch(const WatchFlags& flags, const Words& words) {
  std::vector<fs::path> folders;
  for (const std::string& word : words) folders.push_back(newest_run(word));
  return flags.plain || ::isatty(STDOUT_FILENO) != 1 ? print_runs(flags, folders) : show_runs(flags, folders);
}

}  // namespace

Command watch_command() {
  return make_command(
      {.name = "watch",
       .summary = "Show runs in the terminal until they end: progress, curves, last values",
       .usage = "RUN...",
       .about =
           R"(RUN is the folder of a run, or one with several below it: then the one that was written last. Runs that
have ended or were killed are shown once. The exit code is 1 if a run failed or was killed. The last line of the screen
has the keys: q leaves, and the run continues; p pauses it and lets it continue; k saves and stops it, after a
question.)",
       .least = 1,
       .most = kAnyNumber,
       .values = {{"every", "SECONDS"}}},
      run_watch);
}

}  // namespace levin::cli
