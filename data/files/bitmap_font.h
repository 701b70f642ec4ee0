#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace levin::data {

/// A font of 5 x 7 pixels for the printable characters of ASCII; any other character is a question mark.
inline constexpr int64_t kGlyphWidth = 5, kGlyphHeight = 7;

/// Pixels across that `text` takes, each pixel of the font being `scale` x `scale`.
int64_t text_width(std::string_view text, int64_t scale);

/// As much of `text` as `width` pixels hold, with two dots where it goes on.
std::string fitting_text(std::string_view text, int64_t width, int64_t scale);

/// Writes `value` into the pixels of `text` whose first character's upper left corner is at (`top`, `left`). `image` is
/// uint8 [channels, height, width]; what lies outside is left out.
void draw_text(const at::Tensor& image, int64_t top, int64_t left, std::string_view text, int64_t scale, uint8_t value);

}  // namespace levin::data
