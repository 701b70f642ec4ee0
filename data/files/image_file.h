#pragma once
#include <levin/data/files/image_codecs.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace levin::data {

/// Reads a JPEG, PNG, TIFF or WebP file, recognised by its first bytes: [channels, height, width] on the CPU, uint8
/// unless `options` ask for other values, a view of [height, width, channels].
///
/// An image is turned as its EXIF orientation says. Throws levin::UsageError that names the file if it is not readable,
/// of another format, truncated, broken, or has more than kMostPixels pixels.
at::Tensor read_image(const std::filesystem::path& path, const ImageOptions& options = {});
/// Decodes the bytes of such a file; `name` is used in messages.
at::Tensor decode_image(std::string_view bytes, const std::string& name, const ImageOptions& options = {});

/// Writes `image`, uint8 [height, width], [1, height, width] or [3, height, width] on the CPU, as a file of 1 or 3
/// channels. What was there stays until the new file is whole. Throws levin::UsageError for another image and if no
/// file can be made there, levin::Error if writing fails.
void write_png(const std::filesystem::path& path, const at::Tensor& image);
/// Writes a JPEG, which is lossy: less so with a higher `quality`, 1 to 100. Otherwise as write_png.
void write_jpeg(const std::filesystem::path& path, const at::Tensor& image, int64_t quality = 90);

}  // namespace levin::data
