#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace levin::data {

/// What the pixels of a file become.
enum class PixelValues : uint8_t {
  Bytes,    ///< uint8; of 16 bits the upper 8
  Numbers,  ///< float32 from 0 to 1: a byte divided by 255, 16 bits by 65535
  Indices   ///< what a file of gray or of a palette holds, as uint8, or int32 of 16 bits; colours stay uint8
};

/// The options of decoding an image.
struct ImageOptions {
  /// 3: red, green, blue. 1: luminance, (299 red + 587 green + 114 blue) / 1000.
  int64_t channels = 3;
  /// If both are above 0, a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size, the smallest that still has this many
  /// rows and columns: much faster for photographs, and close to decoding all pixels and averaging.
  int64_t min_height = 0, min_width = 0;
  /// With Indices `channels` does not count: an image of gray or of a palette has one channel, others have three.
  PixelValues values = PixelValues::Bytes;
};

/// Images with more pixels are refused before memory is allocated for them.
inline constexpr int64_t kMostPixels = int64_t{1} << 28;

bool is_jpeg(std::string_view bytes);
bool is_png(std::string_view bytes);
bool is_tiff(std::string_view bytes);
bool is_webp(std::string_view bytes);

/// Decodes the bytes of a JPEG, PNG, TIFF or WebP file: [height, width, channels] of the type that `options.values`
/// says. `name` is the prefix of messages.
///
/// Throws levin::UsageError if the bytes are truncated or corrupt, as far as the format detects it; for a moving WebP;
/// for a TIFF with samples of other than 1, 2, 4, 8 or 16 bits; and for the indices of a format that is lossy. CMYK
/// becomes RGB (of a JPEG as Adobe writes it, inverted); transparency is dropped; of several pages the first is read.
at::Tensor decode_jpeg(std::string_view bytes, const std::string& name, const ImageOptions& options);
at::Tensor decode_png(std::string_view bytes, const std::string& name, const ImageOptions& options);
at::Tensor decode_tiff(std::string_view bytes, const std::string& name, const ImageOptions& options);
at::Tensor decode_webp(std::string_view bytes, const std::string& name, const ImageOptions& options);

/// Encodes `image`, uint8 [height, width], [1, height, width] or [3, height, width] on the CPU, as the bytes of a file.
/// JPEG's quality is 1 to 100. Throws levin::UsageError for another image and for a size that the format does not
/// support.
std::string encode_jpeg(const at::Tensor& image, int64_t quality);
std::string encode_png(const at::Tensor& image);

/// Helpers of the formats.
namespace detail {

/// Throws levin::UsageError if `options.channels` is neither 1 nor 3, an image of this size is too large, or
/// `most_pixels`, the most that the file can hold, is less than the image's pixels.
void check_image(const std::string& name, const ImageOptions& options, int64_t height, int64_t width,
                 int64_t most_pixels);
/// Allocates an image: [height, width, channels].
at::Tensor empty_image(int64_t height, int64_t width, int64_t channels, at::ScalarType type = at::kByte);
/// Returns the pixels of a file, uint8 or uint16 [height, width, 1 or 3], with the values and channels that `options`
/// says.
at::Tensor as_asked(const at::Tensor& pixels, const ImageOptions& options);
/// Returns the luminance of uint8 [height, width, 3], rounded, as [height, width, 1].
at::Tensor luminance(const at::Tensor& rgb);
/// Returns `image` as the encoders need it: contiguous uint8 [height, width, 1 or 3]. Throws levin::UsageError as
/// encode_png.
at::Tensor interleaved(const at::Tensor& image, const char* what, int64_t most_side);

}  // namespace detail
}  // namespace levin::data
