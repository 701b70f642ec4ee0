#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/transforms/interpolation.h>

#include <cstdint>

namespace levin::data {

enum class ImageResize : uint8_t;

struct SquareShape {
  ImageResize resize = {};
  int64_t side = 0;     ///< of the squares, or the height
  int64_t resized = 0;  ///< the shorter side, or with ExactCrop both sides, before the middle is taken
  Interpolation interpolation = Interpolation::Bilinear;
  int64_t width = 0;  ///< of images that are no squares, where `resized` is `side`; 0: side
};

/// Resizes images [samples, channels, height, width] of any dtype to squares, with antialiasing: both sides, or the
/// shorter side, of which the middle is taken; or to rectangles in the same way. Source: torchvision's Resize and
/// CenterCrop.
at::Tensor square_images(const at::Tensor& images, const SquareShape& shape);

}  // namespace levin::data
