#pragma once
#include <cstdint>

namespace levin::data {

/// An image in float32 planes, red, green and blue or gray alone, whose colours are changed in place.
struct ColorPlanes {
  float* pixels = nullptr;  ///< [channels, count]
  int64_t channels = 0;     ///< 1 or 3
  int64_t count = 0;
  float white = 1;             ///< the greatest value, 255 for bytes
  bool whole_numbers = false;  ///< values are cut off after each change, as bytes are

  /// Each by `factor`, as torchvision.transforms.v2.functional's adjust_brightness, adjust_contrast and
  /// adjust_saturation; 1 changes nothing. Saturation leaves gray images as they are, and so does hue.
  void adjust_brightness(float factor) const;
  void adjust_contrast(float factor) const;
  void adjust_saturation(float factor) const;
  /// Turns the colour circle by `part` of it, -1 to 1, as adjust_hue.
  void adjust_hue(float part) const;

 private:
  float gray(int64_t i) const;
  float fit(float value) const;
};

}  // namespace levin::data
