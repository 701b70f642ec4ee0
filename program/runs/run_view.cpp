#include <levin/program/runs/run_view.h>
#include <levin/callbacks/progress_format.h>
#include <levin/callbacks/utf8_locale.h>
#include <levin/program/runs/text_chart.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace levin::runs {
namespace {

constexpr size_t kSmallChart = 5;       // lines, in a view of all metrics
constexpr size_t kLowestChart = 3;      // before other lines give place
constexpr size_t kMostOutputLines = 5;  // below the curves
constexpr double kClosest = 1.0 / 1024;
constexpr std::array kSmoothing = {0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99};
constexpr std::array kCurveColours = {"\x1b[36m", "\x1b[33m", "\x1b[32m", "\x1b[35m",
                                      "\x1b[34m", "\x1b[31m", "\x1b[96m", "\x1b[93m"};

/// Returns the first code points of a text, at most `columns` of them.
std::string cut_to(const std::string& text, size_t columns) {
  size_t end = 0;
  for (size_t width = 0; end < text.size(); ++end)
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && ++width > columns) break;
  return text.substr(0, end);
}

char letter_of(size_t run) { return static_cast<char>('a' + run % 26); }

/// Returns what stands before a run's name: its letter, in its colour. Nothing if there is one run.
std::string mark_of(size_t run, size_t runs, const ViewStyle& style) {
  if (runs == 1) return {};
  const std::string letter(1, letter_of(run));
  return (style.has_colour ? kCurveColours[run % kCurveColours.size()] + letter + "\x1b[0m" : letter) + " ";
}

/// Returns an option of the trainer as a number; 0 if it is unset or has no limit.
double limit_of(const RecordedRun& run, const char* option) {
  const auto value = run.option(option);
  return value.is_number() ? std::max(0.0, value.get<double>()) : 0;
}

/// Returns the metrics that get a chart: those that judge a run, then the others by name.
std::vector<std::string> charted(const std::vector<RecordedRun>& runs) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const RecordedRun& run : runs)
    if (const auto monitor = run.monitor()) add(monitor->metric);
  std::set<std::string> others;
  for (const RecordedRun& run : runs)
    for (const auto& [name, series] : run.metrics)
      if (series.values.size() > 1) others.insert(name);
  for (const std::string& name : others) add(name);
  return names;
}

/// Returns the last values of all metrics of a run, as many in a line as fit.
std::vector<std::string> last_values(const RecordedRun& run, size_t columns) {
  std::vector<std::string> lines;
  std::string line;
  for (const auto& [name, series] : run.metrics) {
    const std::string one = printable(name) + " " + progress::format_metric(series.values.back());
    if (!line.empty() && line.size() + 2 + one.size() > columns) lines.push_back(std::exchange(line, ""));
    line += (line.empty() ? "" : "  ") + one;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::string best_text(const RecordedRun& run) {
  const auto best = run.best();
  return best ? "best " + printable(best->monitor.metric) + " " + progress::format_metric(best->value) + " in step " +
                    std::to_string(best->step)
              : std::string();
}

/// Returns the last two parts of a run's folder: "mnist/version_3".
std::string short_name(const RecordedRun& run) {
  const std::filesystem::path folder = run.folder.lexically_normal();
  return printable((folder.parent_path().filename() / folder.filename()).string());
}

}  // namespace

ViewStyle terminal_style() {
  const char* const no_colour = std::getenv("NO_COLOR");
  return {.size = screen_size(),
          .is_utf8 = progress::locale_is_utf8(),
          .has_colour = no_colour == nullptr || *no_colour == '\0'};
}

std::string status_line(const RecordedRun& run) {
  const double epochs = limit_of(run, "max_epochs"), steps = limit_of(run, "max_steps");
  std::string line = printable(run.shown_status()) + "  epoch " + std::to_string(run.epoch + 1);
  if (epochs > 0) line += "/" + std::to_string(static_cast<int64_t>(std::min(epochs, 1e15)));
  line += "  step " + std::to_string(run.step);
  if (steps > 0) line += "/" + std::to_string(static_cast<int64_t>(std::min(steps, 1e15)));
  return line + "  " + progress::format_clock(run.seconds);
}

std::string keys_line(size_t columns) {
  constexpr std::array<std::string_view, 3> kLines = {
      "q leave  p pause  k stop  m metric  Enter one/all  l log  s smooth  + - zoom  arrows move  0 whole  x axis  1-9 "
      "runs",
      "q leave  p pause  k stop  m metric  Enter l log  s smooth  +- zoom  0 x 1-9",
      "q leave p pause k stop m l s +- 0 x 1-9"};
  for (const std::string_view line : kLines)
    if (line.size() <= columns) return std::string(line);
  return std::string(kLines.back().substr(0, columns));
}

bool RunView::press(Key key, const std::vector<RecordedRun>& runs) {
  const size_t metrics = std::max<size_t>(charted(runs).size(), 1);
  const auto number = static_cast<size_t>(static_cast<int>(key) - '1');
  if (number < std::min<size_t>(runs.size(), 9)) {
    if (hidden_.erase(number) == 0) hidden_.insert(number);
    return true;
  }
  switch (static_cast<int>(key)) {
    case 'm':
    case static_cast<int>(Key::Down):
      metric_ = (metric_ + 1) % metrics;
      return true;
    case 'M':
    case static_cast<int>(Key::Up):
      metric_ = (metric_ + metrics - 1) % metrics;
      return true;
    case static_cast<int>(Key::Enter):
      shows_one_ = !shows_one_;
      return true;
    case 'l':
      is_log_ = !is_log_;
      return true;
    case 's':
      smoothing_ = (smoothing_ + 1) % kSmoothing.size();
      return true;
    case 'S':
      smoothing_ = (smoothing_ + kSmoothing.size() - 1) % kSmoothing.size();
      return true;
    case 'x':
      by_seconds_ = !by_seconds_;
      return true;
    case '+':
    case '=':
      zoom(0.5);
      return true;
    case '-':
      zoom(2);
      return true;
    case static_cast<int>(Key::Left):
      move(-0.25);
      return true;
    case static_cast<int>(Key::Right):
      move(0.25);
      return true;
    case '0':
      from_ = 0;
      to_ = 1;
      return true;
    default:
      return false;
  }
}

/// Keeps the newest end in sight if it was.
void RunView::zoom(double factor) {
  const double width = std::clamp((to_ - from_) * factor, kClosest, 1.0);
  const double middle = to_ == 1 ? 1 - width / 2 : (from_ + to_) / 2;
  from_ = std::clamp(middle - width / 2, 0.0, 1 - width);
  to_ = from_ + width >= 1 ? 1 : from_ + width;
}

void RunView::move(double share) {
  const double width = to_ - from_;
  from_ = std::clamp(from_ + share * width, 0.0, 1 - width);
  to_ = from_ + width >= 1 ? 1 : from_ + width;
}

std::vector<size_t> RunView::shown(const std::vector<RecordedRun>& runs) const {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < runs.size(); ++i)
    if (!hidden_.contains(i)) numbers.push_back(i);
  return numbers;
}

std::vector<std::string> RunView::header(const std::vector<RecordedRun>& runs, const ViewStyle& style) const {
  const size_t columns = style.size.columns;
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) {
    if (!line.empty()) lines.push_back(cut_to(line, columns));
  };
  if (runs.size() == 1) {
    add(printable(runs[0].folder.lexically_normal().string()));
    add(status_line(runs[0]));
    add(best_text(runs[0]));
  }
  for (size_t i = 0; runs.size() > 1 && i < runs.size(); ++i) {
    const std::string text = short_name(runs[i]) + (hidden_.contains(i) ? "  hidden" : "") + "  " +
                             status_line(runs[i]) + "  " + best_text(runs[i]);
    lines.push_back(mark_of(i, runs.size(), style) + cut_to(text, columns - 2));
  }
  for (const RecordedRun& run : runs)
    for (const std::string& problem : run.problems) add(printable(problem));
  // Curves need room too.
  if (lines.size() > style.size.lines / 2) lines.resize(style.size.lines / 2);
  return lines;
}

std::string RunView::title(const std::vector<RecordedRun>& runs, const std::string& metric,
                           const ViewStyle& style) const {
  std::string text = printable(metric);
  for (const size_t i : shown(runs))
    if (const auto last = runs[i].last(metric))
      text += "  " + (runs.size() == 1 ? "" : std::string(1, letter_of(i)) + " ") + progress::format_metric(*last);
  if (is_log_) text += "  log";
  if (smoothing_ > 0) text += "  smoothing " + progress::format_metric(kSmoothing.at(smoothing_));
  if (to_ - from_ < 1) text += "  zoom " + progress::format_metric(1 / (to_ - from_));
  return cut_to(text, style.size.columns);
}

std::vector<std::string> RunView::chart(const std::vector<RecordedRun>& runs, const std::string& metric, size_t height,
                                        const ViewStyle& style) const {
  std::vector<ChartCurve> curves;
  const bool has_colours = runs.size() > 1 && style.has_colour;
  for (const size_t i : shown(runs)) {
    const auto found = runs[i].metrics.find(metric);
    if (found == runs[i].metrics.end()) continue;
    curves.push_back({.series = &found->second,
                      .colour = has_colours ? kCurveColours[i % kCurveColours.size()] : "",
                      .letter = runs.size() == 1 ? '*' : letter_of(i)});
  }
  std::vector<std::string> lines = text_chart(curves, {.width = style.size.columns,
                                                       .height = height,
                                                       .is_ascii = !style.is_utf8 || (runs.size() > 1 && !has_colours),
                                                       .is_log = is_log_,
                                                       .by_seconds = by_seconds_,
                                                       .has_axis = shows_one_,
                                                       .smoothing = kSmoothing.at(smoothing_),
                                                       .from = from_,
                                                       .to = to_});
  lines.insert(lines.begin(), title(runs, metric, style));
  return lines;
}

std::vector<std::string> RunView::picture(const std::vector<RecordedRun>& runs, const ViewStyle& style,
                                          const std::vector<std::string>& output, const std::string& last_line) const {
  const size_t columns = style.size.columns, bottom = last_line.empty() ? 0 : 1;
  std::vector<std::string> lines = header(runs, style);
  std::vector<std::string> below;
  if (runs.size() == 1 && !shows_one_) below = last_values(runs[0], columns);
  const auto room = [&] {
    const size_t used = lines.size() + below.size() + bottom;
    return style.size.lines > used ? style.size.lines - used : 0;
  };
  if (room() < kLowestChart + 2) below.clear();
  for (size_t i = output.size() - std::min(output.size(), kMostOutputLines); i < output.size(); ++i)
    if (room() > kLowestChart + 2) below.push_back(printable(output[i]));

  const std::vector<std::string> metrics = charted(runs);
  const auto add = [&](std::vector<std::string> more) { std::ranges::move(more, std::back_inserter(lines)); };
  if (metrics.empty() && room() > 0) add({runs.empty() ? "" : "there are no values yet"});
  for (size_t i = 0; i < metrics.size(); ++i) {
    const std::string& metric = metrics[(metric_ + i) % metrics.size()];
    if (shows_one_ && room() > 2) {
      add(chart(runs, metric, room() - 2, style));
      break;
    }
    // The first chart of a low screen takes what there is.
    const size_t height = i == 0 ? std::min(kSmallChart, room() < 2 ? 0 : room() - 1) : kSmallChart;
    if (height == 0 || height + 1 > room()) break;
    add(chart(runs, metric, height, style));
  }
  for (const std::string& line : below) lines.push_back(cut_to(line, columns));
  if (bottom > 0) {
    lines.resize(style.size.lines - 1);  // it stands at the bottom
    lines.push_back(cut_to(last_line, columns));
  }
  if (lines.size() > style.size.lines) lines.resize(style.size.lines);
  return lines;
}

}  // namespace levin::runs
