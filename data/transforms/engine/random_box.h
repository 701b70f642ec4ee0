#pragma once
#include <levin/data/rng.h>

#include <array>
#include <cstdint>
#include <optional>

namespace levin::data {

/// A rectangle of pixels.
struct Box {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

/// The distribution of random boxes.
struct BoxShape {
  std::array<double, 2> scale;  ///< the area, as a fraction of the image's area
  std::array<double, 2> ratio;  ///< ratio of the sides, log-uniform
  bool width_over_height = true;
  bool whole_sides = true;  ///< whether the box may be as high or as wide as the image
};

/// Returns a random box inside of an image; nothing if none of ten attempts fits.
std::optional<Box> random_box(Rng& rng, int64_t height, int64_t width, const BoxShape& shape);

}  // namespace levin::data
