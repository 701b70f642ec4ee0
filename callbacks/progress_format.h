#pragma once
#include <levin/core/run/metrics.h>

#include <cstdint>
#include <optional>
#include <string>

/// Formatting of progress lines, independent of a terminal.
namespace levin::progress {

/// The content of one progress line.
struct Line {
  std::string label = {};  ///< "Epoch 3/5"
  int64_t done = 0;
  std::optional<int64_t> total = {};  ///< unset if the loader does not know its length
  double batches_per_second = 0;      ///< 0 if not known yet
  double seconds = 0;                 ///< since the line started
  bool finished = false;              ///< shows the time taken instead of the time left
  Metrics metrics = {};
};

/// The capabilities of the output.
struct Style {
  int64_t columns = 80;
  bool unicode = false;
  bool colour = false;
};

/// Formats `line` with a bar, in at most `style.columns - 1` columns: `Epoch 3/5  ━━━━━─── 62%  155/250  ...`.
///
/// Fields that do not fit are left out; the label, the bar and the time have the highest priority, then the metrics. A
/// finished line drops its bar first. Metric names count one column per code point.
std::string format_bar(const Line& line, const Style& style);
/// Formats `line` without a bar, colours or a width limit, for files and pipes.
std::string format_plain(const Line& line);

/// Formats a time as `0:07`, `12:34`, `1:02:03`, `2 d 03:04:05`.
std::string format_clock(double seconds);
/// Formats a duration as `0.42 s`, `12.3 s`; from one minute on as format_clock.
std::string format_duration(double seconds);
/// Formats a rate as `1.2k it/s`, `155 it/s`, `12.3 it/s`, and below one per second `1.5 s/it`.
std::string format_rate(double per_second);
/// Formats a value with three to four significant digits: `0.123`, `12.35`, `12346`, `1.23e-05`, `nan`.
std::string format_metric(double value);

}  // namespace levin::progress
