#include <levin/data/datasets/readers/square_images.h>
#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <levin/data/datasets/readers/image_folder_dataset.h>

#include <algorithm>
#include <cmath>

namespace levin::data {
namespace {

at::Tensor resized(const at::Tensor& images, int64_t height, int64_t width, Interpolation interpolation) {
  if (images.size(2) == height && images.size(3) == width) return images;
  switch (interpolation) {
    case Interpolation::Nearest:
      return at::upsample_nearest2d(images, {height, width});
    case Interpolation::Bicubic:
      return at::_upsample_bicubic2d_aa(images, {height, width}, /*align_corners=*/false);
    case Interpolation::Bilinear:
      break;
  }
  return at::_upsample_bilinear2d_aa(images, {height, width}, /*align_corners=*/false);
}

/// Resizes images so that they cover `height` and `width`, and one side fits; the other is rounded down.
at::Tensor covering(const at::Tensor& images, int64_t height, int64_t width, Interpolation interpolation) {
  const int64_t rows = images.size(2), columns = images.size(3);
  return height * columns >= width * rows
             ? resized(images, height, std::max(width, height * columns / rows), interpolation)
             : resized(images, std::max(height, width * rows / columns), width, interpolation);
}

at::Tensor center_crop(const at::Tensor& images, int64_t height, int64_t width) {
  // Half a pixel is rounded to even, as Python does.
  const auto begin = [](int64_t all, int64_t size) { return static_cast<int64_t>(std::nearbyint((all - size) / 2.0)); };
  return images.narrow(2, begin(images.size(2), height), height).narrow(3, begin(images.size(3), width), width);
}

}  // namespace

at::Tensor square_images(const at::Tensor& images, const SquareShape& shape) {
  const int64_t height = shape.side, width = shape.width > 0 ? shape.width : shape.side;
  const int64_t resized_width = shape.width > 0 ? shape.width : shape.resized;
  if (shape.resize == ImageResize::Exact) return resized(images, height, width, shape.interpolation);
  const at::Tensor larger = shape.resize == ImageResize::ExactCrop
                                ? resized(images, shape.resized, resized_width, shape.interpolation)
                                : covering(images, shape.resized, resized_width, shape.interpolation);
  return center_crop(larger, height, width);
}

}  // namespace levin::data
