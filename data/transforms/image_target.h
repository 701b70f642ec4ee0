#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/batch.h>
#include <levin/data/rng.h>
#include <levin/data/transforms/engine/random_box.h>
#include <levin/data/transforms/engine/warp.h>
#include <levin/data/transforms/engine/window.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace levin::data {

/// The images of a batch, and what moves with them: the class of each pixel, and boxes.
///
/// In a batch these are the fields `input`, `mask`, `boxes` and `labels`. Boxes need a batch of one sample, as
/// datasets hand it to their transforms. What lies outside of an image after a move has the class kIgnoredTarget in
/// the mask. A box is cut at the image's edges; if less than one pixel of its width or height is left, it is removed,
/// and its row of `labels` with it.
struct ImageTarget {
  at::Tensor images = {};  ///< [samples, channels, height, width], uint8 or floating point
  at::Tensor masks = {};   ///< int64 [samples, height, width]; undefined: none
  at::Tensor boxes = {};   ///< float32 [n, 4]: x1, y1, x2, y2 in pixels from the upper left corner; undefined: none
  at::Tensor labels = {};  ///< [n, ...], one row for each box; undefined: none

  int64_t height() const { return images.size(2); }
  int64_t width() const { return images.size(3); }
};

/// Takes the images of a batch and what moves with them. Throws levin::Error that names the transform and the field,
/// for fields of other shapes and types.
ImageTarget image_target_of(const Batch& batch, const char* transform);
/// Does the same for a random transform; also throws if `rngs` does not have one for each sample.
ImageTarget image_target_of(const Batch& batch, std::span<const Rng> rngs, const char* transform);
/// Puts them back.
void set_image_target(Batch& batch, const ImageTarget& target);

/// Resizes images by `interpolation`, and masks to the nearest pixel.
void resize_target(ImageTarget& target, std::array<int64_t, 2> size, Interpolation interpolation, bool antialias);
/// Takes a window of `size` (height, width) from each image: a crop, and where it reaches beyond the image a border of
/// `fill`, one value per channel, or of what `mode` says. Boxes are not repeated in a reflected border.
void crop_target(ImageTarget& target, const std::vector<Corner>& corners, std::array<int64_t, 2> size, PaddingMode mode,
                 const std::vector<double>& fill);
/// Takes a box inside of each image, and resizes it to `size`.
void resized_crop_target(ImageTarget& target, const std::vector<Box>& windows, std::array<int64_t, 2> size,
                         Interpolation interpolation, bool antialias);
/// Exchanges left and right of the images that are `chosen`, in place; with `top_and_bottom`, those instead.
void flip_target(ImageTarget& target, const std::vector<bool>& chosen, bool top_and_bottom);
/// Turns, moves, scales and shears each image about its centre; the size stays. A box becomes the smallest one around
/// its moved corners.
void warp_target(ImageTarget& target, const std::vector<InverseMap>& maps, Interpolation interpolation,
                 const std::vector<double>& fill);

}  // namespace levin::data
