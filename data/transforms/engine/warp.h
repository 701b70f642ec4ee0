#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/transforms/engine/interpolate.h>

#include <array>
#include <vector>

namespace levin::data {

/// Maps an output pixel to a place in the input image, both counted in pixels from the image's centre:
/// x' = m[0] x + m[1] y + m[2], y' = m[3] x + m[4] y + m[5].
using InverseMap = std::array<double, 6>;

/// Rotation, translation, scaling and shear about the image's centre. Angles in degrees, clockwise; translation in
/// pixels.
struct AffineMap {
  double angle = 0, move_x = 0, move_y = 0, scale = 1, shear_x = 0, shear_y = 0;
  /// Source: torchvision.transforms.functional.affine
  InverseMap inverse() const;
};

/// Returns each of `images` [samples, channels, height, width], transformed by its map, nearest or bilinear; places
/// outside of an image have `fill`, one value per channel. Bytes are rounded.
at::Tensor warp(const at::Tensor& images, const std::vector<InverseMap>& maps, Interpolation interpolation,
                const std::vector<double>& fill);

}  // namespace levin::data
