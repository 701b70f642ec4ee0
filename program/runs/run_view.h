#pragma once
#include <levin/program/runs/recorded_run.h>
#include <levin/program/runs/screen.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace levin::runs {

/// What a terminal can show.
struct ViewStyle {
  ScreenSize size = {};
  bool is_utf8 = true;     ///< curves are dots of Braille letters, else letters
  bool has_colour = true;  ///< several runs have a colour each, else a letter
};

/// Returns the style of the terminal at standard output, by its size, the locale and NO_COLOR.
ViewStyle terminal_style();

/// The picture of runs in a terminal, and what its user has chosen: the metric, one chart or all, logarithm, smoothing,
/// the part of the steps, hidden runs.
class RunView {
 public:
  /// Follows a key. Returns false if it is none of the view's.
  bool press(Key key, const std::vector<RecordedRun>& runs);

  /// Returns the picture, at most as many lines as the screen has, none wider than the screen. `output` is shown below
  /// the curves, its last lines; `last_line`, unless it is empty, at the bottom.
  std::vector<std::string> picture(const std::vector<RecordedRun>& runs, const ViewStyle& style,
                                   const std::vector<std::string>& output, const std::string& last_line) const;

  /// Returns the numbers of the runs that are not hidden.
  std::vector<size_t> shown(const std::vector<RecordedRun>& runs) const;

 private:
  std::vector<std::string> header(const std::vector<RecordedRun>& runs, const ViewStyle& style) const;
  std::vector<std::string> chart(const std::vector<RecordedRun>& runs, const std::string& metric, size_t height,
                                 const ViewStyle& style) const;
  std::string title(const std::vector<RecordedRun>& runs, const std::string& metric, const ViewStyle& style) const;
  void zoom(double factor);
  void move(double share);

  size_t metric_ = 0;
  bool shows_one_ = false, is_log_ = false, by_seconds_ = false;
  size_t smoothing_ = 0;
  double from_ = 0, to_ = 1;  ///< the part of the steps that is shown
  std::set<size_t> hidden_ = {};
};

/// Returns the state of a run in a line: "running  epoch 2/9  step 40/100  0:12".
std::string status_line(const RecordedRun& run);

/// Returns a line with the keys that a view takes, at most `columns` wide.
std::string keys_line(size_t columns);

}  // namespace levin::runs
