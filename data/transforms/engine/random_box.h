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

/// What random boxes look like.
struct BoxShape {
  std::array<double, 2> scale;  ///< the area, as a part of the image's
  std::array<double, 2> ratio;  ///< one side over the other, drawn evenly on a logarithmic scale
  bool width_over_height = true;
  bool whole_sides = true;  ///< whether the box may be as high or as wide as the image
};

/// A box inside of an image; nothing where ten were drawn and none fits.
std::optional<Box> random_box(Rng& rng, int64_t height, int64_t width, const BoxShape& shape);

}  // namespace levin::data
