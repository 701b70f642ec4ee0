#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::data {

/// Returns whether `images` can be drawn: uint8, bool or floating point, [samples, 1 or 3, height, width], not empty.
bool can_be_drawn(const at::Tensor& images);

/// Draws images in rows and columns, each with its label below it. Returns uint8 [3, height, width], for write_png.
///
/// Floating-point values are scaled so that the least of all images is black and the greatest white; values that are
/// not finite are black. Small images are enlarged by a whole factor, large ones reduced. At most `most_images` are
/// drawn. `labels` has one text per image; labels that are too long are cut. Throws levin::UsageError if the images
/// cannot be drawn or the number of labels differs.
at::Tensor contact_sheet(const at::Tensor& images, const std::vector<std::string>& labels, int64_t most_images = 64);

}  // namespace levin::data
