#include <levin/trainer/tuner/lr_find.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>
#include <utility>

namespace levin {
namespace {

constexpr double kWidth = 720, kHeight = 440, kLeft = 70, kRight = 20, kTop = 40, kBottom = 50;

/// Maps values to pixels.
struct Axis {
  double from = 0, to = 1, first_pixel = 0, last_pixel = 1;
  bool is_log = false;
  double place(double value) const {
    const auto scaled = [&](double v) { return is_log ? std::log10(v) : v; };
    return first_pixel + (scaled(value) - scaled(from)) / (scaled(to) - scaled(from)) * (last_pixel - first_pixel);
  }
  /// Returns the powers of ten, or about five round numbers.
  std::vector<double> ticks() const {
    std::vector<double> values;
    if (is_log) {
      for (double power = std::ceil(std::log10(from) - 1e-9); power <= std::log10(to) + 1e-9; ++power)
        values.push_back(std::pow(10.0, power));
      return values;
    }
    const double unit = std::pow(10.0, std::floor(std::log10((to - from) / 5)));
    const double parts = (to - from) / 5 / unit, step = unit * (parts > 5 ? 10 : parts > 2 ? 5 : parts > 1 ? 2 : 1);
    for (double i = std::ceil(from / step - 1e-9); i * step <= to + step * 1e-9; ++i) values.push_back(i * step);
    return values;
  }
};

/// Returns the points that can be drawn: finite, and with a rate above 0 on a logarithmic axis.
std::vector<std::pair<double, double>> drawable(const LRFindResult& found, bool is_log) {
  std::vector<std::pair<double, double>> points;
  for (size_t i = 0; i < found.lrs.size() && i < found.losses.size(); ++i)
    if (std::isfinite(found.losses[i]) && (!is_log || found.lrs[i] > 0))
      points.emplace_back(found.lrs[i], found.losses[i]);
  return points;
}

/// Sets the axis from the least to the largest value; widens the range if they are equal.
template <class Of>
Axis axis_of(const std::vector<std::pair<double, double>>& points, Of value_of, Axis axis) {
  axis.from = std::numeric_limits<double>::infinity();
  axis.to = -axis.from;
  for (const auto& point : points) {
    axis.from = std::min(axis.from, value_of(point));
    axis.to = std::max(axis.to, value_of(point));
  }
  if (axis.from < axis.to) return axis;
  if (points.empty()) axis.from = axis.to = 1;
  const double width = axis.is_log ? axis.from / 2 : std::max(1e-3, std::abs(axis.from) / 10);
  axis.from -= width;
  axis.to += width;
  return axis;
}

class Picture {
 public:
  Picture(Axis x, Axis y) : x_(x), y_(y) {
    svg_.imbue(std::locale::classic());
    svg_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kWidth << "\" height=\"" << kHeight
         << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  }

  void frame() {
    for (const double value : x_.ticks()) {
      line(x_.place(value), kTop, x_.place(value), kHeight - kBottom);
      text(x_.place(value), kHeight - kBottom + 18, "middle", number(value));
    }
    for (const double value : y_.ticks()) {
      line(kLeft, y_.place(value), kWidth - kRight, y_.place(value));
      text(kLeft - 6, y_.place(value) + 4, "end", number(value));
    }
    svg_ << "<rect x=\"" << kLeft << "\" y=\"" << kTop << "\" width=\"" << kWidth - kLeft - kRight << "\" height=\""
         << kHeight - kTop - kBottom << "\" fill=\"none\" stroke=\"#444\"/>\n";
    text(kWidth / 2, kHeight - 12, "middle", "learning rate");
    text(kLeft, kTop - 14, "start", "smoothed loss");
  }

  void curve(const std::vector<std::pair<double, double>>& points) {
    svg_ << "<polyline fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"2\" points=\"";
    for (const auto& [lr, loss] : points) svg_ << x_.place(lr) << ',' << y_.place(loss) << ' ';
    svg_ << "\"/>\n";
  }

  void mark(double lr, double loss) {
    svg_ << "<circle cx=\"" << x_.place(lr) << "\" cy=\"" << y_.place(loss) << "\" r=\"6\" fill=\"#c8281e\"/>\n";
    text(kWidth - kRight, kTop - 14, "end", "suggestion " + number(lr));
  }

  std::string finish() { return svg_.str() + "</svg>\n"; }

 private:
  static std::string number(double value) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << std::setprecision(3) << (std::abs(value) < 1e-12 ? 0 : value);
    return text.str();
  }
  void line(double x1, double y1, double x2, double y2) {
    svg_ << "<line x1=\"" << x1 << "\" y1=\"" << y1 << "\" x2=\"" << x2 << "\" y2=\"" << y2 << "\" stroke=\"#ddd\"/>\n";
  }
  void text(double x, double y, const char* anchor, const std::string& words) {
    svg_ << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\">" << words << "</text>\n";
  }

  Axis x_, y_;
  std::ostringstream svg_ = {};
};

}  // namespace

std::string LRFindResult::to_svg() const {
  const bool is_log = mode != LRGrowth::Linear;
  const auto points = drawable(*this, is_log);
  const Axis x{.first_pixel = kLeft, .last_pixel = kWidth - kRight, .is_log = is_log};
  const Axis y{.first_pixel = kHeight - kBottom, .last_pixel = kTop};
  Picture picture(axis_of(
                      points, [](const auto& point) { return point.first; }, x),
                  axis_of(points, [](const auto& point) { return point.second; }, y));
  picture.frame();
  if (!points.empty()) picture.curve(points);
  if (index) picture.mark(lrs.at(*index), losses.at(*index));
  return picture.finish();
}

}  // namespace levin
