#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace levin::data {

/// How an image is decoded.
struct ImageOptions {
  /// 3: red, green, blue. 1: luminance, (299 red + 587 green + 114 blue) / 1000.
  int64_t channels = 3;
  /// Where both are above 0, a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size, as small as still has so many rows
  /// and columns: much faster for photographs, and close to decoding all and averaging.
  int64_t min_height = 0, min_width = 0;
};

/// Images of more pixels than this are refused, before memory is taken for them.
inline constexpr int64_t kMostPixels = int64_t{1} << 28;

bool is_jpeg(std::string_view bytes);
bool is_png(std::string_view bytes);

/// The image in the bytes of a JPEG or PNG file: uint8 [height, width, channels]. `name` stands in front of messages.
///
/// Whatever is not whole (cut off, changed bytes that the format shows) throws levin::UsageError. Inks become red,
/// green and blue as Adobe writes them (inverted), 16 bits become their upper 8, transparency is left out.
at::Tensor decode_jpeg(std::string_view bytes, const std::string& name, const ImageOptions& options);
at::Tensor decode_png(std::string_view bytes, const std::string& name, const ImageOptions& options);

/// The bytes of a file that holds `image`, uint8 [height, width], [1, height, width] or [3, height, width] on the CPU.
/// JPEG's quality is 1 to 100. Throws levin::UsageError for another image and for sizes that the format has not.
std::string encode_jpeg(const at::Tensor& image, int64_t quality);
std::string encode_png(const at::Tensor& image);

/// What the two formats share.
namespace detail {

/// Throws levin::UsageError where `options.channels` is neither 1 nor 3, an image of this size is too large, or
/// `most_pixels`, which the file can hold at best, are fewer.
void check_image(const std::string& name, const ImageOptions& options, int64_t height, int64_t width,
                 int64_t most_pixels);
/// Memory for an image: uint8 [height, width, channels].
at::Tensor empty_image(int64_t height, int64_t width, int64_t channels);
/// The luminance of uint8 [height, width, 3], rounded, as [height, width, 1].
at::Tensor luminance(const at::Tensor& rgb);
/// `image` as the formats want it: contiguous uint8 [height, width, 1 or 3]. Throws levin::UsageError as encode_png.
at::Tensor interleaved(const at::Tensor& image, const char* what, int64_t most_side);

}  // namespace detail
}  // namespace levin::data
