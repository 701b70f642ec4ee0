#pragma once
#include <levin/data/files/image_codecs.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace levin::data {

/// Reads a JPEG or PNG file, recognised by its first bytes: uint8 [channels, height, width] on the CPU, a view of
/// [height, width, channels].
///
/// A JPEG is turned as its EXIF orientation says. Throws levin::UsageError that names the file if it is not readable,
/// neither JPEG nor PNG, truncated, broken, or has more than kMostPixels pixels.
at::Tensor read_image(const std::filesystem::path& path, const ImageOptions& options = {});
/// Decodes the bytes of a JPEG or PNG file; `name` is used in messages.
at::Tensor decode_image(std::string_view bytes, const std::string& name, const ImageOptions& options = {});

/// Writes `image`, uint8 [height, width], [1, height, width] or [3, height, width] on the CPU, as a file of 1 or 3
/// channels. Throws levin::UsageError for another image and if the file cannot be written.
void write_png(const std::filesystem::path& path, const at::Tensor& image);
/// Writes a JPEG, which is lossy: less so with a higher `quality`, 1 to 100. Otherwise as write_png.
void write_jpeg(const std::filesystem::path& path, const at::Tensor& image, int64_t quality = 90);

}  // namespace levin::data
