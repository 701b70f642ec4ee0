// What levin watch draws, without a terminal.
#include <levin/program/runs/run_view.h>
#include <levin/core/system/error.h>
#include <levin/program/runs/text_chart.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/error_text.h"

namespace {

using levin::runs::Key, levin::runs::RecordedRun, levin::runs::Series;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Series series_of(const std::vector<double>& values) {
  Series series;
  for (size_t i = 0; i < values.size(); ++i) {
    series.steps.push_back(static_cast<int64_t>(i));
    series.seconds.push_back(static_cast<double>(i) / 2);
    series.values.push_back(values[i]);
  }
  return series;
}

/// Columns of a line: code points outside of the sequences for colours.
size_t width_of(const std::string& line) {
  size_t width = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      i = line.find('m', i);
      continue;
    }
    width += (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80;
  }
  return width;
}

RecordedRun run_of(const std::string& folder, const std::vector<double>& values) {
  RecordedRun run;
  run.folder = folder;
  run.status = "running";
  run.metrics["val_loss"] = series_of(values);
  run.metrics["train_loss"] = series_of({3, 2, 1});
  return run;
}

}  // namespace

TEST_CASE("a chart has its height and width, whatever its values are") {
  std::mt19937 random(1);
  const std::vector<double> odd = {0,      1,    -1,        1e308, -1e308, kInfinity, -kInfinity, std::nan(""),
                                   1e-320, -0.0, 123456789, 1e-300};
  for (int i = 0; i < 3000; ++i) {
    std::vector<Series> all(1 + random() % 3);
    for (Series& series : all) {
      std::vector<double> values(1 + random() % 20);
      for (double& value : values)
        value = random() % 2 ? odd[random() % odd.size()] : static_cast<double>(random() % 9);
      series = series_of(values);
      if (random() % 5 == 0) std::ranges::reverse(series.steps);
      if (random() % 5 == 0) series.steps.back() = std::numeric_limits<int64_t>::max();
    }
    const double from = random() % 2 ? 0 : 0.999, to = random() % 2 ? 1 : from + 0.0009;
    const levin::runs::ChartStyle style = {.width = random() % 100,
                                           .height = 1 + random() % 9,
                                           .is_ascii = random() % 2 == 0,
                                           .is_log = random() % 2 == 0,
                                           .by_seconds = random() % 2 == 0,
                                           .smoothing = random() % 2 ? 0 : 0.99,
                                           .from = from,
                                           .to = to};
    std::vector<levin::runs::ChartCurve> curves;
    for (const Series& series : all)
      curves.push_back({.series = &series, .colour = random() % 2 ? "\x1b[36m" : "", .letter = 'a'});
    const std::vector<std::string> lines = levin::runs::text_chart(curves, style);
    if (lines.size() == 1 && lines[0].starts_with("no ")) continue;
    REQUIRE(lines.size() == style.height);
    for (const std::string& line : lines) REQUIRE(width_of(line) == std::max<size_t>(style.width, 12));
  }
}

TEST_CASE("a chart shows where values are") {
  const Series series = series_of({1, 10, 100, 1000});
  const auto chart = [&](bool is_log, double from) {
    return levin::runs::text_chart(
        {{.series = &series}},
        {.width = 14, .height = 4, .is_ascii = true, .is_log = is_log, .has_axis = true, .from = from});
  };
  const auto lines = chart(true, 0);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == "     1000    *");
  CHECK(lines[1] == "            * ");
  CHECK(lines[2] == "           *  ");
  CHECK(lines[3] == "        1 *   ");
  CHECK(lines[4] == "          0  3");
  CHECK(chart(false, 0)[3] == "        1 *** ");
  CHECK(chart(true, 2.0 / 3)[3].starts_with("      100 "));
  const Series none = series_of({std::nan("")}), negative = series_of({-1, 10});
  CHECK(levin::runs::text_chart({{.series = &none}}, {}) == std::vector<std::string>{"no finite value"});
  // A logarithm of what is not positive is not drawn; the axis stays linear.
  CHECK(levin::runs::text_chart({{.series = &negative}}, {.width = 20, .height = 2, .is_log = true})[1].starts_with(
      "       -1 "));
}

TEST_CASE("an average does not begin near zero, and lets values pass that are not finite") {
  const std::vector<double> means = levin::runs::smoothed({4, kInfinity, 2}, 0.5);
  CHECK(means[0] == 4);
  CHECK(means[1] == kInfinity);
  CHECK(means[2] == Approx((4 * 0.25 + 2 * 0.5) / 0.75));
}

TEST_CASE("a picture fits every screen, with the keys in its last line") {
  levin::runs::RunView view;
  std::vector<RecordedRun> runs = {run_of("runs/a/version_0", {5, 4, 3}), run_of("runs/b/version_1", {6, 1, 2})};
  const std::string keys = "\rlsS+-0xmM12";
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    view.press(static_cast<Key>(keys[random() % keys.size()]), runs);
    view.press(random() % 2 ? Key::Left : Key::Right, runs);
    const levin::runs::ViewStyle style = {.size = {.columns = 20 + random() % 200, .lines = 5 + random() % 60},
                                          .is_utf8 = random() % 2 == 0,
                                          .has_colour = random() % 2 == 0};
    const std::string last = levin::runs::keys_line(style.size.columns);
    const auto lines = view.picture(runs, style, {"an output", "in two lines"}, last);
    REQUIRE(lines.size() == style.size.lines);
    REQUIRE(lines.back() == last);
    for (const std::string& line : lines) REQUIRE(width_of(line) <= style.size.columns);
  }
  CHECK(view.picture({}, {}, {}, "x").back() == "x");
}

TEST_CASE("a status says what a viewer has asked") {
  RecordedRun run = run_of("r", {1});
  CHECK(run.shown_status() == "running");
  run.request = levin::RunRequest::Pause;
  CHECK(run.shown_status() == "running, pauses soon");
  run.is_paused = true;
  CHECK(run.shown_status() == "paused");
  run.request = levin::RunRequest::None;
  CHECK(run.shown_status() == "paused, continues soon");
}

TEST_CASE("keys are taken from what a terminal sends, in parts too") {
  const auto keys_of = [](std::string bytes) {
    std::vector<int> keys;
    for (Key key = levin::runs::take_key(bytes, true); key != Key::None; key = levin::runs::take_key(bytes, true))
      keys.push_back(static_cast<int>(key));
    CHECK(bytes.empty());
    return keys;
  };
  const int up = static_cast<int>(Key::Up), other = static_cast<int>(Key::Other),
            escape = static_cast<int>(Key::Escape);
  CHECK(keys_of("q\x1b[Ap") == std::vector<int>{'q', up, 'p'});
  CHECK(keys_of("\x1bOA\x1b[5~\x1b[1;5A") == std::vector<int>{up, other, up});
  CHECK(keys_of("\x1b") == std::vector<int>{escape});
  CHECK(keys_of("\n") == std::vector<int>{static_cast<int>(Key::Enter)});
  CHECK(keys_of("\xc3\xa4") == std::vector<int>{other, other});
  CHECK(keys_of(std::string("\0k", 2)) == std::vector<int>{other, 'k'});
  for (const char* part : {"\x1b", "\x1b[", "\x1b[1;5"}) {
    std::string bytes = part;
    CHECK(levin::runs::take_key(bytes, false) == Key::None);
    CHECK(bytes == part);
  }
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes(random() % 9, ' ');
    for (char& byte : bytes) byte = random() % 3 == 0 ? '\x1b' : random() % 2 ? '[' : static_cast<char>(random());
    keys_of(bytes);
  }
}
