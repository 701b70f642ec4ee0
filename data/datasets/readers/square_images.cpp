#include <levin/data/datasets/readers/square_images.h>
#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <levin/data/datasets/readers/image_folder_dataset.h>

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

/// Resizes the shorter side to `size`; the longer side is rounded down.
at::Tensor with_shorter_side(const at::Tensor& images, int64_t size, Interpolation interpolation) {
  const int64_t height = images.size(2), width = images.size(3);
  return height <= width ? resized(images, size, size * width / height, interpolation)
                         : resized(images, size * height / width, size, interpolation);
}

at::Tensor center_crop(const at::Tensor& images, int64_t size) {
  // Half a pixel is rounded to even, as Python does.
  const auto begin = [&](int64_t side) { return static_cast<int64_t>(std::nearbyint((side - size) / 2.0)); };
  return images.narrow(2, begin(images.size(2)), size).narrow(3, begin(images.size(3)), size);
}

}  // namespace

at::Tensor square_images(const at::Tensor& images, const SquareShape& shape) {
  if (shape.resize == ImageResize::Exact) return resized(images, shape.side, shape.side, shape.interpolation);
  if (shape.resize == ImageResize::ExactCrop)
    return center_crop(resized(images, shape.resized, shape.resized, shape.interpolation), shape.side);
  return center_crop(with_shorter_side(images, shape.resized, shape.interpolation), shape.side);
}

}  // namespace levin::data
