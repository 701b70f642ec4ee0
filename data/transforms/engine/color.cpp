#include <levin/data/transforms/engine/color.h>

#include <algorithm>

namespace levin::data {
namespace {

/// std::floor of a value that is not negative; without SSE 4.1 std::floor is a function call.
float cut_off(float value) { return static_cast<float>(static_cast<int32_t>(value)); }

struct Hsv {
  float hue, saturation, value;  // all from 0 to 1
};

Hsv to_hsv(float red, float green, float blue) {
  const float most = std::max({red, green, blue}), least = std::min({red, green, blue});
  const float range = most - least;
  if (range == 0) return {0, 0, most};
  float hue = 0;
  if (most == red)
    hue = (green - blue) / range;
  else if (most == green)
    hue = 2 + (blue - red) / range;
  else
    hue = 4 + (red - green) / range;
  hue /= 6;
  return {hue < 0 ? hue + 1 : hue, range / most, most};
}

/// Returns a channel: red (5), green (3) or blue (1).
float channel_of(const Hsv& color, float which) {
  const float turned = which + color.hue * 6, place = turned >= 6 ? turned - 6 : turned;
  const float part = std::clamp(std::min(place, 4 - place), 0.0F, 1.0F);
  return color.value * (1 - color.saturation * part);
}

}  // namespace

float ColorPlanes::fit(float value) const {
  const float inside = std::clamp(value, 0.0F, white);
  return whole_numbers ? cut_off(inside) : inside;
}

float ColorPlanes::gray(int64_t i) const {
  if (channels == 1) return pixels[i];
  const float value = 0.2989F * pixels[i] + 0.587F * pixels[count + i] + 0.114F * pixels[2 * count + i];
  return whole_numbers ? cut_off(value) : value;
}

void ColorPlanes::adjust_brightness(float factor) const {
  for (int64_t i = 0; i < channels * count; ++i) pixels[i] = fit(pixels[i] * factor);
}

void ColorPlanes::adjust_contrast(float factor) const {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += gray(i);
  const float rest = static_cast<float>(sum / static_cast<double>(count)) * (1 - factor);
  for (int64_t i = 0; i < channels * count; ++i) pixels[i] = fit(pixels[i] * factor + rest);
}

void ColorPlanes::adjust_saturation(float factor) const {
  if (channels == 1) return;
  for (int64_t i = 0; i < count; ++i) {
    const float rest = gray(i) * (1 - factor);
    for (int64_t c = 0; c < 3; ++c) pixels[c * count + i] = fit(pixels[c * count + i] * factor + rest);
  }
}

void ColorPlanes::adjust_hue(float part) const {
  if (channels == 1) return;
  // Bytes are converted back as in ConvertImage.
  const float back = whole_numbers ? white + 0.999F : white;
  for (int64_t i = 0; i < count; ++i) {
    Hsv color = to_hsv(pixels[i] / white, pixels[count + i] / white, pixels[2 * count + i] / white);
    color.hue += part;
    if (color.hue < 0) color.hue += 1;
    if (color.hue >= 1) color.hue -= 1;
    for (int64_t c = 0; c < 3; ++c)
      pixels[c * count + i] = fit(channel_of(color, static_cast<float>(5 - 2 * c)) * back);
  }
}

}  // namespace levin::data
