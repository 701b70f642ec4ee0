#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace levin::runs {

/// A grid of dots that becomes lines of text: with Braille letters two columns and four lines of dots in each letter,
/// else one dot.
class ChartCanvas {
 public:
  ChartCanvas(size_t width, size_t height, bool is_ascii);

  /// The number of dots, at least one.
  size_t dots_across() const { return width_ * dot_columns_; }
  size_t dots_down() const { return cells_.size() / width_ * dot_lines_; }
  /// Sets a dot of a curve; the newest owns the letter.
  void set(size_t x, size_t y, uint8_t curve);
  /// Sets the dots between two points, given in dots from the left and from the top; what lies outside is left out.
  void line(double x0, double y0, double x1, double y1, uint8_t curve);
  /// Returns a line of letters; `letters` and `colours` are those of the curves.
  std::string text(size_t y, const std::string& letters, const std::vector<std::string>& colours) const;

 private:
  struct Cell {
    uint8_t dots = 0, curve = 0;
  };

  size_t width_, dot_columns_, dot_lines_;
  std::vector<Cell> cells_;
};

}  // namespace levin::runs
