#pragma once
#include <levin/trainer/core/run/metrics.h>

#include <cstdint>
#include <optional>
#include <string>

/// How progress is put into words; nothing here needs a terminal.
namespace levin::progress {

/// What one line of progress says.
struct Line {
  std::string label = {};  ///< "Epoch 3/5"
  int64_t done = 0;
  std::optional<int64_t> total = {};  ///< unset where the loader does not know its length
  double batches_per_second = 0;      ///< 0: not known yet
  double seconds = 0;                 ///< since the line began
  bool finished = false;              ///< says how long it took, and no longer how long it will
  Metrics metrics = {};
};

/// What the place where a bar is drawn can do.
struct Style {
  int64_t columns = 80;
  bool unicode = false;
  bool colour = false;
};

/// `line` with a bar, in at most `style.columns - 1` columns: `Epoch 3/5  ━━━━━─── 62%  155/250  ...`.
///
/// What does not fit is left out; the label, the bar and the time stay longest, then come the metrics. A finished line
/// gives up its bar first. Metric names are counted as one column for each code point.
std::string format_bar(const Line& line, const Style& style);
/// `line` without a bar, colours or limits, for files and pipes.
std::string format_plain(const Line& line);

/// `0:07`, `12:34`, `1:02:03`, `2 d 03:04:05`.
std::string format_clock(double seconds);
/// A time that something took: `0.42 s`, `12.3 s`, from a minute on as format_clock.
std::string format_duration(double seconds);
/// `1.2k it/s`, `155 it/s`, `12.3 it/s`, and below one per second `1.5 s/it`.
std::string format_rate(double per_second);
/// Three to four significant digits: `0.123`, `12.35`, `12346`, `1.23e-05`, `nan`.
std::string format_metric(double value);

}  // namespace levin::progress
