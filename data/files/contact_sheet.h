#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::data {

/// Whether `images` can be drawn: uint8, bool or floating point [samples, 1 or 3, height, width], none of them 0.
bool can_be_drawn(const at::Tensor& images);

/// Images in rows and columns, each with its label below it: uint8 [3, height, width], for write_png.
///
/// Floating-point values are stretched so that the least of all images is black and the greatest white; what is not
/// finite is black. Small images are enlarged by a whole factor, large ones reduced. At most `most_images` are drawn.
/// `labels` has one text for each image; labels that are too long are cut. Throws levin::UsageError for images that
/// cannot be drawn and for other numbers of labels.
at::Tensor contact_sheet(const at::Tensor& images, const std::vector<std::string>& labels, int64_t most_images = 64);

}  // namespace levin::data
