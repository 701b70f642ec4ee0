#include <levin/program/runs/chart_canvas.h>

#include <algorithm>
#include <cmath>

namespace levin::runs {
namespace {

/// Appends the UTF-8 text of U+2800 + `dots`.
void append_braille(std::string& text, uint8_t dots) {
  text += '\xE2';
  text += static_cast<char>(0xA0 + (dots >> 6));
  text += static_cast<char>(0x80 + (dots & 0x3F));
}

/// The part of a line that lies inside, as shares of its length.
struct InsidePart {
  double begin = 0, end = 1;

  /// Leaves out where a coordinate that goes from `from` to `to` is below 0 or above `last`.
  void clip(double from, double to, double last) {
    const double low = (0 - from) / (to - from), high = (last - from) / (to - from);
    if (from == to) {
      if (from < 0 || from > last) end = -1;
      return;
    }
    begin = std::max(begin, std::min(low, high));
    end = std::min(end, std::max(low, high));
  }
};

}  // namespace

ChartCanvas::ChartCanvas(size_t width, size_t height, bool is_ascii)
    : width_(std::max<size_t>(width, 1)),
      dot_columns_(is_ascii ? 1 : 2),
      dot_lines_(is_ascii ? 1 : 4),
      cells_(width_ * std::max<size_t>(height, 1)) {}

void ChartCanvas::set(size_t x, size_t y, uint8_t curve) {
  constexpr uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  Cell& cell = cells_[y / dot_lines_ * width_ + x / dot_columns_];
  cell.dots |= kBits[y % dot_lines_][x % dot_columns_];
  cell.curve = curve;
}

void ChartCanvas::line(double x0, double y0, double x1, double y1, uint8_t curve) {
  // Points far outside may be so far that differences are infinite; there the slope need not be exact.
  constexpr double kFar = 1e6;
  for (double* const one : {&x0, &y0, &x1, &y1}) *one = std::clamp(*one, -kFar, kFar);
  const auto last_x = static_cast<double>(dots_across() - 1), last_y = static_cast<double>(dots_down() - 1);
  InsidePart part;
  part.clip(x0, x1, last_x);
  part.clip(y0, y1, last_y);
  if (!(part.begin <= part.end)) return;
  const double share = part.end - part.begin;
  const double steps = std::ceil(std::max(std::abs(x1 - x0), std::abs(y1 - y0)) * share);
  for (double i = 0; i <= steps; ++i) {
    const double at = steps > 0 ? part.begin + share * i / steps : part.begin;
    const double x = std::clamp(std::round(x0 + (x1 - x0) * at), 0.0, last_x);
    const double y = std::clamp(std::round(y0 + (y1 - y0) * at), 0.0, last_y);
    set(static_cast<size_t>(x), static_cast<size_t>(y), curve);
  }
}

std::string ChartCanvas::text(size_t y, const std::string& letters, const std::vector<std::string>& colours) const {
  std::string text, colour;
  for (size_t x = 0; x < width_; ++x) {
    const Cell& cell = cells_[y * width_ + x];
    const std::string& wanted = cell.dots == 0 ? colour : colours.at(cell.curve);
    if (wanted != colour) text += colour.empty() ? wanted : "\x1b[0m" + wanted;
    colour = wanted;
    if (dot_columns_ == 2)
      append_braille(text, cell.dots);
    else
      text += cell.dots == 0 ? ' ' : letters.at(cell.curve);
  }
  return colour.empty() ? text : text + "\x1b[0m";
}

}  // namespace levin::runs
