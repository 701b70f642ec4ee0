#include <levin/callbacks/progress_format.h>
#include <levin/core/system/error.h>
#include <levin/program/cli/report.h>
#include <levin/program/commands/commands.h>
#include <levin/program/runs/recorded_run.h>
#include <levin/program/runs/run_folders.h>
#include <levin/program/runs/text_chart.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <thread>

namespace levin::cli {
namespace {

namespace fs = std::filesystem;
using runs::RecordedRun, runs::Series;
using Clock = std::chrono::steady_clock;

constexpr size_t kChartHeight = 5;
constexpr size_t kNarrowest = 40;

struct WatchFlags {
  int64_t every = LEVIN_OPTION(every, 2, "Seconds between two looks", {.min = 1});
  bool once = LEVIN_OPTION(once, false, "Do not wait");
  bool plain =
      LEVIN_OPTION(plain, false, "Print each new row of metrics as a line, as where the output is no terminal");
};

struct Size {
  size_t columns = 100, lines = 40;
};

Size terminal_size() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {std::max<size_t>(size.ws_col, kNarrowest), size.ws_row};
}

/// Returns the folder of the run that was written last, or `root` itself if it is one.
fs::path newest_run(const fs::path& root) {
  std::error_code ignored;
  if (!fs::is_directory(root, ignored)) throw UsageError("levin watch: ", root.string(), ": there is no such folder");
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

/// Returns an option of the trainer as a number; 0 if it is unset or has no limit.
double limit_of(const RecordedRun& run, const char* option) {
  const auto value = run.option(option);
  return value.is_number() ? std::max(0.0, value.get<double>()) : 0;
}

std::string status_line(const RecordedRun& run) {
  const double epochs = limit_of(run, "max_epochs"), steps = limit_of(run, "max_steps");
  std::string line = runs::printable(run.status) + "  epoch " + std::to_string(run.epoch + 1);
  if (epochs > 0) line += "/" + short_number(epochs);
  line += "  step " + std::to_string(run.step);
  if (steps > 0) line += "/" + short_number(steps);
  return line + "  " + progress::format_clock(run.seconds);
}

/// Returns the metrics that get a chart: the one that judges the run, then the others by name.
std::vector<std::string> charted(const RecordedRun& run) {
  std::vector<std::string> names;
  if (const auto monitor = run.monitor()) names.push_back(monitor->metric);
  for (const auto& [name, series] : run.metrics)
    if (series.values.size() > 1 && std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

/// Returns the picture of a run, at most as many lines as the terminal has.
std::vector<std::string> picture(const RecordedRun& run, Size size) {
  std::vector<std::string> lines = {runs::printable(run.folder.lexically_normal().string()), status_line(run)};
  if (const auto best = run.best())
    lines.push_back("best " + runs::printable(best->monitor.metric) + " " + short_number(best->value) + " in step " +
                    std::to_string(best->step));
  for (const std::string& problem : run.problems) lines.push_back(runs::printable(problem));
  std::string last;
  std::vector<std::string> values;
  for (const auto& [name, series] : run.metrics) {
    const std::string one = runs::printable(name) + " " + short_number(series.values.back());
    if (!last.empty() && last.size() + 2 + one.size() > size.columns) values.push_back(std::exchange(last, ""));
    last += (last.empty() ? "" : "  ") + one;
  }
  if (!last.empty()) values.push_back(last);
  for (const std::string& name : charted(run)) {
    if (lines.size() + values.size() + kChartHeight + 2 > size.lines) break;
    lines.push_back(runs::printable(name));
    for (std::string& line : runs::text_chart(run.metrics.at(name), size.columns, kChartHeight))
      lines.push_back(std::move(line));
  }
  lines.insert(lines.end(), values.begin(), values.end());
  if (lines.size() >= size.lines) lines.resize(size.lines - 1);
  return lines;
}

/// Draws over what stood on the screen before.
void draw(const RecordedRun& run) {
  std::string text = "\x1b[H\x1b[2J";
  for (const std::string& line : picture(run, terminal_size())) text += line + "\n";
  std::cout << text << std::flush;
}

/// Prints rows as lines, each once.
class PrintedRows {
 public:
  void print_new(const RecordedRun& run) {
    std::map<int64_t, std::string> by_step;
    for (const auto& [name, series] : run.metrics) {
      size_t& printed = printed_[name];
      if (printed > series.values.size()) printed = 0;  // the run was resumed, and its metrics cut back
      for (; printed < series.values.size(); ++printed)
        by_step[series.steps[printed]] += "  " + runs::printable(name) + " " + short_number(series.values[printed]);
    }
    for (const auto& [step, text] : by_step) std::cout << "step " << step << text << "\n";
    std::cout.flush();
  }

 private:
  std::map<std::string, size_t> printed_ = {};
};

int run_watch(const WatchFlags& flags, const Words& words) {
  const std::chrono::seconds every(flags.every);
  const bool draws = !flags.plain && ::isatty(STDOUT_FILENO) == 1;
  const fs::path folder = newest_run(words[0]);
  PrintedRows rows;
  for (;;) {
    const Clock::time_point begin = Clock::now();
    const RecordedRun run = runs::read_run(folder);
    if (draws)
      draw(run);
    else
      rows.print_new(run);
    if (flags.once || run.status != "running") {
      if (!draws) {
        std::cout << status_line(run) << std::endl;
        for (const std::string& problem : run.problems) std::cout << runs::printable(problem) << std::endl;
      }
      return run.status == "failed" || run.status == "killed" ? 1 : 0;
    }
    // A long run takes a while to read: most of the time the processor is the run's.
    std::this_thread::sleep_for(std::max<Clock::duration>(every, 9 * (Clock::now() - begin)));
  }
}

}  // namespace

Command watch_command() {
  return make_command(
      {.name = "watch",
       .summary = "Show a run in the terminal until it ends: progress, curves, last values",
       .usage = "RUN",
       .about =
           R"(RUN is the folder of a run, or one with several below it: then the one that was written last. A run that has
ended or was killed is shown once. The exit code is 1 if the run failed or was killed.)",
       .least = 1,
       .most = 1,
       .values = {{"every", "SECONDS"}}},
      run_watch);
}

}  // namespace levin::cli
