#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace levin::data {

/// The glyph size of a font for the printable ASCII characters; any other character is drawn as a question mark.
inline constexpr int64_t kGlyphWidth = 5, kGlyphHeight = 7;

/// Returns the width of `text` in pixels, each pixel of the font drawn as `scale` x `scale`.
int64_t text_width(std::string_view text, int64_t scale);

/// Returns `text`, cut to fit into `width` pixels; two dots mark the cut.
std::string fitting_text(std::string_view text, int64_t width, int64_t scale);

/// Writes `value` into the pixels of `text` with the upper left corner at (`top`, `left`). `image` is uint8
/// [channels, height, width]; pixels outside of it are skipped.
void draw_text(const at::Tensor& image, int64_t top, int64_t left, std::string_view text, int64_t scale, uint8_t value);

}  // namespace levin::data
