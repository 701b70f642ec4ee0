#include <levin/data/datasets/digit_glyphs.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <levin/data/rng.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace levin::data {
namespace {

constexpr int64_t kSide = 28;
constexpr double kDegree = std::numbers::pi / 180;

struct Point {
  double x, y;
};
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

/// Part of an ellipse from angle `from` to `to`, in degrees; 0 is right, 90 is down.
Stroke arc(Point center, double radius_x, double radius_y, double from, double to) {
  constexpr int kPieces = 12;
  Stroke stroke;
  for (int i = 0; i <= kPieces; ++i) {
    const double angle = (from + (to - from) * i / kPieces) * kDegree;
    stroke.push_back({center.x + radius_x * std::cos(angle), center.y + radius_y * std::sin(angle)});
  }
  return stroke;
}

Stroke operator+(Stroke a, const Stroke& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The styles in which each digit is written; x from -0.6 to 0.6, y from -1 (top) to 1.
const std::array<std::vector<Glyph>, 10>& glyphs() {
  static const std::array<std::vector<Glyph>, 10> all = {{
      {{arc({0, 0}, 0.55, 1, -90, 270)}, {arc({0, 0}, 0.4, 1, -120, 250)}, {arc({0, 0}, 0.6, 0.85, -60, 290)}},
      {{{{0, -1}, {0, 1}}},
       {{{-0.35, -0.6}, {0.05, -1}, {0.05, 1}}},
       {{{-0.3, -0.6}, {0, -1}, {0, 1}}, {{-0.35, 1}, {0.35, 1}}}},
      {{arc({0, -0.45}, 0.5, 0.55, -170, 40) + Stroke{{-0.55, 1}, {0.6, 1}}},
       {arc({0, -0.5}, 0.5, 0.5, -160, 60) + Stroke{{-0.3, 0.75}} + arc({-0.3, 0.8}, 0.2, 0.2, 180, 40) +
        Stroke{{0.6, 1}}},
       {{{-0.5, -0.9}, {0.3, -1}, {0.5, -0.6}, {-0.5, 1}, {0.55, 0.95}}}},
      {{arc({0, -0.5}, 0.5, 0.5, -150, 90) + arc({0, 0.5}, 0.55, 0.5, -90, 150)},
       {{{-0.5, -1}, {0.5, -1}, {0, -0.2}}, arc({0, 0.4}, 0.5, 0.6, -90, 140)},
       {arc({-0.1, -0.5}, 0.5, 0.45, -130, 80) + Stroke{{-0.2, 0}} + arc({-0.1, 0.5}, 0.6, 0.5, -80, 130)}},
      {{{{0.2, -1}, {-0.6, 0.3}, {0.6, 0.3}}, {{0.25, -0.3}, {0.25, 1}}},
       {{{-0.45, -1}, {-0.5, 0.1}, {0.5, 0.1}}, {{0.45, -1}, {0.4, 1}}},
       {{{0.25, 1}, {0.25, -1}, {-0.55, 0.35}, {0.6, 0.35}}}},
      {{{{0.5, -1}, {-0.4, -1}, {-0.45, -0.1}}, arc({-0.05, 0.4}, 0.55, 0.6, -130, 140)},
       {Stroke{{0.55, -0.95}, {-0.35, -1}, {-0.4, -0.15}} + arc({0, 0.35}, 0.5, 0.62, -110, 150)},
       {{{-0.35, -0.95}, {-0.4, -0.1}}, arc({-0.05, 0.4}, 0.55, 0.58, -130, 130), {{-0.35, -0.95}, {0.5, -0.95}}}},
      {{Stroke{{0.35, -1}, {-0.25, -0.4}} + arc({0, 0.45}, 0.5, 0.55, 190, 550)},
       {arc({0.35, 0}, 0.8, 1, -90, -180) + arc({0, 0.5}, 0.45, 0.5, 180, 540)},
       {{{0.1, -1}, {-0.4, 0.4}}, arc({0.02, 0.5}, 0.45, 0.48, 180, 540)}},
      {{{{-0.55, -1}, {0.55, -1}, {-0.1, 1}}},
       {{{-0.55, -0.7}, {-0.5, -1}, {0.55, -1}, {0, 0}, {-0.1, 1}}},
       {{{-0.5, -1}, {0.5, -1}, {-0.15, 1}}, {{-0.3, 0.05}, {0.45, 0.05}}}},
      {{arc({0, -0.5}, 0.42, 0.5, 90, 450), arc({0, 0.5}, 0.52, 0.5, -90, 270)},
       {arc({0, -0.52}, 0.48, 0.46, -30, -270) + arc({0, 0.48}, 0.5, 0.52, -90, 180) +
        Stroke{{-0.4, 0.3}, {0.42, -0.7}}}},
      {{arc({0, -0.45}, 0.48, 0.55, 0, 360) + Stroke{{0.4, 1}}},
       {arc({0, -0.45}, 0.5, 0.52, -20, 340) + arc({-0.1, 0.2}, 0.6, 0.8, -20, 110)},
       {arc({0, -0.5}, 0.45, 0.48, -30, 330), {{0.45, -0.7}, {0.35, 0.3}, {0, 1}}}},
  }};
  return all;
}

/// A random map from a glyph's points to pixels: size, slant, rotation, position, and a slow bend.
class Distortion {
 public:
  explicit Distortion(Rng& rng) {
    const double angle = rng.uniform(-17, 17) * kDegree, shear = rng.uniform(-0.3, 0.3);
    const double width = rng.uniform(6.5, 10.5), height = rng.uniform(7, 10.5);
    a_ = width * std::cos(angle);
    b_ = height * (shear * std::cos(angle) - std::sin(angle));
    c_ = width * std::sin(angle);
    d_ = height * (shear * std::sin(angle) + std::cos(angle));
    x_ = 13.5 + rng.uniform(-2.2, 2.2);
    y_ = 13.5 + rng.uniform(-2.2, 2.2);
    bend_ = rng.uniform(0, 1.1);
    for (double& phase : phases_) phase = rng.uniform(0, 2 * std::numbers::pi);
    for (double& frequency : frequencies_) frequency = rng.uniform(1, 3);
  }

  Point operator()(Point p) const {
    return {a_ * p.x + b_ * p.y + x_ + bend_ * std::sin(frequencies_[0] * p.y + phases_[0]),
            c_ * p.x + d_ * p.y + y_ + bend_ * std::sin(frequencies_[1] * p.x + phases_[1])};
  }

 private:
  double a_, b_, c_, d_, x_, y_, bend_;
  std::array<double, 2> phases_ = {}, frequencies_ = {};
};

using Canvas = std::array<float, kSide * kSide>;

/// Draws the line from a to b, `width` pixels wide, with an edge that fades over one pixel.
void draw_line(Canvas& canvas, Point a, Point b, double width, float ink) {
  const double reach = width / 2 + 0.5;
  const double dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy;
  const double per_length2 = length2 > 0 ? 1 / length2 : 0;
  const auto first = [&](double low) { return std::max<int64_t>(0, std::llround(std::floor(low - reach))); };
  const auto last = [&](double high) { return std::min<int64_t>(kSide - 1, std::llround(std::ceil(high + reach))); };
  for (int64_t y = first(std::min(a.y, b.y)); y <= last(std::max(a.y, b.y)); ++y) {
    for (int64_t x = first(std::min(a.x, b.x)); x <= last(std::max(a.x, b.x)); ++x) {
      const double px = static_cast<double>(x) - a.x, py = static_cast<double>(y) - a.y;
      const double along = std::clamp((px * dx + py * dy) * per_length2, 0.0, 1.0);
      const double away_x = px - along * dx, away_y = py - along * dy;
      const double away2 = away_x * away_x + away_y * away_y;
      if (away2 >= reach * reach) continue;
      const float value = ink * static_cast<float>(std::min(reach - std::sqrt(away2), 1.0));
      float& pixel = canvas[static_cast<size_t>(y * kSide + x)];
      pixel = std::max(pixel, value);
    }
  }
}

/// Adds noise of two kinds: grain over the whole image, and sometimes a stray line.
void add_noise(Canvas& canvas, Rng& rng) {
  if (rng.uniform() < 0.25) {
    const Point from{rng.uniform(0, kSide), rng.uniform(0, kSide)};
    const Point to{from.x + rng.uniform(-9, 9), from.y + rng.uniform(-9, 9)};
    draw_line(canvas, from, to, rng.uniform(0.8, 1.8), 0.8F);
  }
  const auto grain = static_cast<float>(rng.uniform(0, 0.35) / 255);
  for (size_t i = 0; i < canvas.size(); i += 4) {
    uint32_t bits = rng();
    for (size_t j = i; j < i + 4; ++j, bits >>= 8) canvas[j] += grain * (static_cast<float>(bits & 255) - 127.5F);
  }
}

void draw_digit(uint8_t* image, int64_t digit, Rng& rng) {
  const std::vector<Glyph>& styles = glyphs()[static_cast<size_t>(digit)];
  const Glyph& glyph = styles[static_cast<size_t>(rng.randint(0, static_cast<int64_t>(styles.size())))];
  const Distortion distort(rng);
  const double width = rng.uniform(1.2, 3.4);
  const auto ink = static_cast<float>(rng.uniform(0.65, 1));
  Canvas canvas = {};
  for (const Stroke& stroke : glyph) {
    for (size_t i = 1; i < stroke.size(); ++i) {
      // Long lines are drawn in pieces, so that they bend too.
      constexpr int kPieces = 3;
      const Point a = stroke[i - 1], b = stroke[i];
      const int pieces = std::hypot(b.x - a.x, b.y - a.y) > 0.5 ? kPieces : 1;
      const auto at = [&](int k) { return distort({a.x + (b.x - a.x) * k / pieces, a.y + (b.y - a.y) * k / pieces}); };
      for (int k = 0; k < pieces; ++k) draw_line(canvas, at(k), at(k + 1), width, ink);
    }
  }
  add_noise(canvas, rng);
  for (const float value : canvas) *image++ = static_cast<uint8_t>(std::clamp(value, 0.0F, 1.0F) * 255 + 0.5F);
}

}  // namespace

DrawnDigits draw_digits(int64_t count, int64_t seed, int64_t split) {
  const at::TensorOptions bytes(at::kByte);
  DrawnDigits digits{at::empty({count, kSide, kSide}, bytes), at::empty({count}, bytes)};
  auto* images = digits.images.mutable_data_ptr<uint8_t>();
  auto* labels = digits.labels.mutable_data_ptr<uint8_t>();
  at::parallel_for(0, count, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Rng rng(static_cast<uint64_t>(seed), split, i);
      const int64_t digit = rng.randint(0, 10);
      labels[i] = static_cast<uint8_t>(digit);
      draw_digit(images + i * kSide * kSide, digit, rng);
    }
  });
  return digits;
}

}  // namespace levin::data
