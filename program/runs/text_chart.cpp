#include <levin/program/runs/text_chart.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

namespace levin::runs {
namespace {

constexpr size_t kLabelWidth = 10;

std::string label_of(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%9.4g ", value);
  return text;
}

/// Appends the UTF-8 text of U+2800 + `dots`.
void append_braille(std::string& text, uint8_t dots) {
  text += '\xE2';
  text += static_cast<char>(0xA0 + (dots >> 6));
  text += static_cast<char>(0x80 + (dots & 0x3F));
}

/// A picture of dots, two columns and four lines in each letter.
class Dots {
 public:
  Dots(size_t width, size_t height) : width_(width), letters_(width * height) {}
  void set(size_t x, size_t y) {
    constexpr uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    letters_[y / 4 * width_ + x / 2] |= kBits[y % 4][x % 2];
  }
  std::string line(size_t y) const {
    std::string text;
    for (size_t x = 0; x < width_; ++x) append_braille(text, letters_[y * width_ + x]);
    return text;
  }

 private:
  size_t width_;
  std::vector<uint8_t> letters_;
};

}  // namespace

std::vector<std::string> text_chart(const Series& series, size_t width, size_t height) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : series.values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {"no finite value"};
  const size_t columns = std::max<size_t>(width, kLabelWidth + 2) - kLabelWidth;
  Dots dots(columns, height);
  const double first = static_cast<double>(series.steps.front());
  const double span = std::max(1.0, static_cast<double>(series.steps.back()) - first);
  const size_t last_x = columns * 2 - 1, last_y = height * 4 - 1;
  // Halves, since the difference of two large numbers may be infinite.
  const double range = high / 2 - low / 2;
  for (size_t i = 0; i < series.values.size(); ++i) {
    const double value = series.values[i];
    if (!std::isfinite(value)) continue;
    const double x = (static_cast<double>(series.steps[i]) - first) / span * static_cast<double>(last_x);
    const double y =
        range > 0 ? (high / 2 - value / 2) / range * static_cast<double>(last_y) : static_cast<double>(last_y) / 2;
    dots.set(static_cast<size_t>(std::clamp(std::round(x), 0.0, static_cast<double>(last_x))),
             static_cast<size_t>(std::clamp(std::round(y), 0.0, static_cast<double>(last_y))));
  }
  std::vector<std::string> lines;
  for (size_t y = 0; y < height; ++y) {
    const std::string label = y == 0                          ? label_of(high)
                              : y + 1 == height && low < high ? label_of(low)
                                                              : std::string(kLabelWidth, ' ');
    lines.push_back(label + dots.line(y));
  }
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
