#pragma once
#include <levin/program/runs/recorded_run.h>

#include <cstddef>
#include <string>
#include <vector>

namespace levin::runs {

/// A metric of a run in a chart.
struct ChartCurve {
  const Series* series = nullptr;
  std::string colour = {};  ///< the control sequence before its marks; empty: none
  char letter = '*';        ///< its mark in a chart of ASCII letters
};

struct ChartStyle {
  size_t width = 80, height = 5;  ///< in letters; the first ten columns hold the largest and the smallest value
  bool is_ascii = false;          ///< letters instead of the dots of Braille letters
  bool is_log = false;            ///< logarithmic, if all values are positive
  bool by_seconds = false;        ///< over the seconds of the run instead of its steps
  bool has_axis = false;          ///< one more line, with the first and the last step
  double smoothing = 0;           ///< from 0 to below 1: the weight of the earlier values in a moving average
  double from = 0, to = 1;        ///< the part of the steps that is shown
};

/// Returns the exponential moving average of values, of which the beginning is not drawn towards zero. Values that are
/// not finite stay, and do not count.
std::vector<double> smoothed(const std::vector<double>& values, double weight);

/// Draws curves in `height` lines of `width` columns. Values that are not finite are left out. Without a finite value
/// there is one line that says so.
std::vector<std::string> text_chart(const std::vector<ChartCurve>& curves, const ChartStyle& style);

/// Returns a text without characters that control a terminal: each becomes '?'.
std::string printable(const std::string& text);

}  // namespace levin::runs
