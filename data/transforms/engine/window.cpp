#include <levin/data/transforms/engine/window.h>
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>

#include <algorithm>

namespace levin::data {
namespace {

/// Returns the pixel shown at position `at` of a line of `size` pixels; -1 for the constant border.
int64_t shown(int64_t at, int64_t size, PaddingMode mode) {
  if (at >= 0 && at < size) return at;
  if (mode == PaddingMode::Constant || size == 0) return -1;
  if (mode == PaddingMode::Edge) return std::clamp<int64_t>(at, 0, size - 1);
  const int64_t repeated = mode == PaddingMode::Symmetric ? 1 : 0;  // whether the outermost pixel is repeated
  const int64_t period = std::max<int64_t>(1, 2 * (size - 1 + repeated));
  const int64_t folded = ((at % period) + period) % period;
  return folded < size ? folded : period - folded - repeated;
}

/// Copies windows from images; `Pixel` is the type of one channel of a pixel.
template <class Pixel>
class WindowCopy {
 public:
  WindowCopy(const at::Tensor& images, at::Tensor& out, PaddingMode mode)
      : from_(images.const_data_ptr<Pixel>()),
        to_(out.mutable_data_ptr<Pixel>()),
        channels_(images.size(1)),
        height_(images.size(2)),
        width_(images.size(3)),
        window_height_(out.size(2)),
        window_width_(out.size(3)),
        mode_(mode),
        columns_(static_cast<size_t>(window_width_)) {}

  void copy(int64_t sample, Corner corner, const std::vector<double>& fill) {
    begin_ = std::clamp<int64_t>(-corner.left, 0, window_width_);
    end_ = std::clamp<int64_t>(width_ - corner.left, begin_, window_width_);
    for (int64_t x = 0; x < window_width_; ++x)
      columns_[static_cast<size_t>(x)] = shown(corner.left + x, width_, mode_);
    for (int64_t c = 0; c < channels_; ++c) {
      const Pixel* image = from_ + (sample * channels_ + c) * height_ * width_;
      Pixel* window = to_ + (sample * channels_ + c) * window_height_ * window_width_;
      const auto border = static_cast<Pixel>(fill[static_cast<size_t>(c)]);
      for (int64_t y = 0; y < window_height_; ++y, window += window_width_) {
        const int64_t row = shown(corner.top + y, height_, mode_);
        if (row < 0)
          std::fill_n(window, window_width_, border);
        else
          copy_row(image + row * width_, window, corner.left, border);
      }
    }
  }

 private:
  void copy_row(const Pixel* row, Pixel* window, int64_t left, Pixel border) const {
    if (end_ > begin_) std::copy_n(row + left + begin_, end_ - begin_, window + begin_);
    const auto outside = [&](int64_t x) {
      const int64_t column = columns_[static_cast<size_t>(x)];
      window[x] = column < 0 ? border : row[column];
    };
    for (int64_t x = 0; x < begin_; ++x) outside(x);
    for (int64_t x = end_; x < window_width_; ++x) outside(x);
  }

  const Pixel* from_;
  Pixel* to_;
  int64_t channels_, height_, width_, window_height_, window_width_;
  PaddingMode mode_;
  int64_t begin_ = 0, end_ = 0;        // the window's columns that lie in the image
  std::vector<int64_t> columns_ = {};  // the input pixel of each column of the window
};

}  // namespace

at::Tensor windows_of(const at::Tensor& images, const std::vector<Corner>& corners, std::array<int64_t, 2> size,
                      PaddingMode mode, const std::vector<double>& fill) {
  at::Tensor out = at::empty({images.size(0), images.size(1), size[0], size[1]}, images.options());
  AT_DISPATCH_FLOATING_TYPES_AND4(at::kByte, at::kLong, at::kHalf, at::kBFloat16, images.scalar_type(), "windows_of",
                                  [&] {
                                    WindowCopy<scalar_t> copy(images, out, mode);
                                    for (size_t i = 0; i < corners.size(); ++i)
                                      copy.copy(static_cast<int64_t>(i), corners[i], fill);
                                  });
  return out;
}

}  // namespace levin::data
