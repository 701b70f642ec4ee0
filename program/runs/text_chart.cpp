#include <levin/program/runs/text_chart.h>
#include <levin/program/runs/chart_canvas.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>

namespace levin::runs {
namespace {

constexpr size_t kLabelWidth = 10;

std::string label_of(double value) {
  char text[32];
  for (const int digits : {4, 2}) {
    std::snprintf(text, sizeof(text), "%9.*g ", digits, value);
    if (std::strlen(text) == kLabelWidth) break;  // "-1.234e-100" is too long
  }
  return text;
}

/// A range of finite numbers; empty until a number is added.
struct ChartRange {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
  /// Returns the number at a share of the range, from 0 to 1. The difference of two large numbers may be infinite.
  double at(double share) const { return low * (1 - share) + high * share; }
  /// Returns the share at which a number lies; in the middle of a range of one number.
  double share(double value) const { return high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5; }
};

/// The points of a curve whose values are finite.
struct ChartPoints {
  std::vector<double> x = {}, y = {};
};

ChartPoints points_of(const ChartCurve& curve, const ChartStyle& style) {
  const Series& series = *curve.series;
  const std::vector<double> values = smoothed(series.values, style.smoothing);
  ChartPoints points;
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = style.by_seconds ? series.seconds[i] : static_cast<double>(series.steps[i]);
    if (!std::isfinite(values[i]) || !std::isfinite(x)) continue;
    points.x.push_back(x);
    points.y.push_back(values[i]);
  }
  return points;
}

bool are_positive(const std::vector<ChartPoints>& all) {
  return std::ranges::all_of(
      all, [](const ChartPoints& one) { return std::ranges::all_of(one.y, [](double value) { return value > 0; }); });
}

/// Returns the line below a chart: its first and last step, as far apart as there is room.
std::string axis_line(const ChartRange& shown, const ChartStyle& style) {
  const auto text_of = [&](double at) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.7g", at);
    return std::string(text);
  };
  const std::string first = text_of(shown.low), last = text_of(shown.high) + (style.by_seconds ? " s" : "");
  const size_t room = std::max(style.width, kLabelWidth) - kLabelWidth, used = first.size() + last.size();
  const std::string indent(kLabelWidth, ' ');
  return used < room ? indent + first + std::string(room - used, ' ') + last : indent + last.substr(0, room);
}

}  // namespace

std::vector<double> smoothed(const std::vector<double>& values, double weight) {
  if (weight <= 0) return values;
  std::vector<double> means;
  means.reserve(values.size());
  double mean = 0, total = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      means.push_back(value);
      continue;
    }
    mean = mean * weight + value * (1 - weight);
    total = total * weight + 1 - weight;
    means.push_back(mean / total);
  }
  return means;
}

std::vector<std::string> text_chart(const std::vector<ChartCurve>& curves, const ChartStyle& style) {
  std::vector<ChartPoints> all;
  ChartRange steps, values;
  for (const ChartCurve& curve : curves) all.push_back(points_of(curve, style));
  const bool is_log = style.is_log && are_positive(all);
  for (ChartPoints& points : all) {
    for (const double x : points.x) steps.add(x);
    if (is_log)
      for (double& y : points.y) y = std::log10(y);
  }
  if (steps.is_empty()) return {"no finite value"};
  const ChartRange shown{steps.at(style.from), steps.at(style.to)};
  for (const ChartPoints& points : all)
    for (size_t i = 0; i < points.x.size(); ++i)
      if (points.x[i] >= shown.low && points.x[i] <= shown.high) values.add(points.y[i]);
  if (values.is_empty()) return {"no value in this part"};

  ChartCanvas canvas(std::max(style.width, kLabelWidth + 2) - kLabelWidth, style.height, style.is_ascii);
  const auto last_x = static_cast<double>(canvas.dots_across() - 1),
             last_y = static_cast<double>(canvas.dots_down() - 1);
  std::string letters;
  std::vector<std::string> colours;
  for (size_t i = 0; i < all.size(); ++i) {
    letters += curves[i].letter;
    colours.push_back(curves[i].colour);
    const auto x_of = [&](size_t at) { return shown.share(all[i].x[at]) * last_x; };
    const auto y_of = [&](size_t at) { return (1 - values.share(all[i].y[at])) * last_y; };
    for (size_t at = 0; at < all[i].x.size(); ++at) {
      const size_t before = at == 0 ? 0 : at - 1;
      canvas.line(x_of(before), y_of(before), x_of(at), y_of(at), static_cast<uint8_t>(i));
    }
  }
  std::vector<std::string> lines;
  for (size_t y = 0; y < style.height; ++y) {
    const double value = y == 0 ? values.high : values.low;
    const bool has_label = y == 0 || (y + 1 == style.height && values.low < values.high);
    lines.push_back((has_label ? label_of(is_log ? std::pow(10, value) : value) : std::string(kLabelWidth, ' ')) +
                    canvas.text(y, letters, colours));
  }
  if (style.has_axis) lines.push_back(axis_line(shown, style));
  return lines;
}

std::string printable(const std::string& text) {
  std::string clean;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F control terminals too.
    const bool is_c1 = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    clean += c < 0x20 || c == 0x7F || is_c1 ? '?' : text[i];
    i += is_c1;
  }
  return clean;
}

}  // namespace levin::runs
