#pragma once
#include <levin/data/files/image_codecs.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace levin::data {

/// The image in a JPEG or PNG file, told apart by its first bytes: uint8 [channels, height, width] on the CPU, whose
/// memory is that of [height, width, channels].
///
/// A turn that a camera notes (EXIF orientation) is not applied. Throws levin::UsageError that names the file: not
/// readable, neither JPEG nor PNG, cut off, broken, or of more than kMostPixels pixels.
at::Tensor read_image(const std::filesystem::path& path, const ImageOptions& options = {});
/// The same for the bytes of such a file; `name` stands in messages.
at::Tensor decode_image(std::string_view bytes, const std::string& name, const ImageOptions& options = {});

/// Writes `image`, uint8 [height, width], [1, height, width] or [3, height, width] on the CPU, as a file of 1 or 3
/// channels. Throws levin::UsageError for another image and where the file cannot be written.
void write_png(const std::filesystem::path& path, const at::Tensor& image);
/// The same as JPEG, which changes the pixels: less with a higher `quality`, 1 to 100.
void write_jpeg(const std::filesystem::path& path, const at::Tensor& image, int64_t quality = 90);

}  // namespace levin::data
