#pragma once
#include <cstdint>

namespace levin::data {

/// An image in float32 planes, RGB or gray, whose colours are changed in place.
struct ColorPlanes {
  float* pixels = nullptr;  ///< [channels, count]
  int64_t channels = 0;     ///< 1 or 3
  int64_t count = 0;
  float white = 1;             ///< the greatest value, 255 for bytes
  bool whole_numbers = false;  ///< values are truncated after each change, as bytes are

  /// Adjust by `factor`, as torchvision.transforms.v2.functional's adjust_brightness, adjust_contrast and
  /// adjust_saturation; 1 changes nothing. Saturation and hue leave gray images unchanged.
  void adjust_brightness(float factor) const;
  void adjust_contrast(float factor) const;
  void adjust_saturation(float factor) const;
  /// Rotates the colour circle by the fraction `part`, -1 to 1, as adjust_hue.
  void adjust_hue(float part) const;

 private:
  float gray(int64_t i) const;
  float fit(float value) const;
};

}  // namespace levin::data
