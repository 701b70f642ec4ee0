#include <ATen/ops/equal.h>
#include <levin/core/system/error.h>
#include <levin/data/files/exif.h>
#include <levin/data/files/image_codecs.h>

#include <stdexcept>

#include "tests/data/files/pictures.h"
#include "tests/data/files/png_writer.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/fuzz.h"

namespace levin::testing {
namespace {

using data::ImageOptions;

/// Returns the image, or nothing if the bytes are refused.
at::Tensor decoded(at::Tensor (*decode)(std::string_view, const std::string&, const ImageOptions&),
                   const std::string& input, const ImageOptions& options) {
  try {
    at::Tensor image = decode(input, "input", options);
    expect(image.dim() == 3 && image.size(2) == options.channels && image.numel() > 0 && image.is_contiguous(),
           "an image has the channels that were asked for");
    return image;
  } catch (const UsageError&) {
    return {};
  }
}

/// Returns the PNG with the right checksum after each chunk; otherwise little of it would be read.
std::string with_checksums(std::string png) {
  constexpr size_t kSignature = 8, kAround = 12;
  for (size_t at = kSignature; at + kAround <= png.size();) {
    size_t size = 0;
    for (size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(png[at + i]);
    if (size > png.size() - at - kAround) break;
    const std::string chunk = png_chunk(png.substr(at + 4, 4), png.substr(at + 8, size));
    png.replace(at, chunk.size(), chunk);
    at += chunk.size();
  }
  return png;
}

void check_png(const std::string& input) {
  const at::Tensor colours = decoded(data::decode_png, input, {}),
                   gray = decoded(data::decode_png, input, {.channels = 1});
  expect(colours.defined() == gray.defined(), "a PNG file can be read with 1 channel if it can be with 3");
  constexpr int64_t kQuick = 1 << 20;
  if (!colours.defined() || colours.numel() > kQuick) return;
  const at::Tensor again = decoded(data::decode_png, data::encode_png(colours.permute({2, 0, 1})), {});
  expect(again.defined() && at::equal(again, colours), "a PNG file that is written again has the same pixels");
}

}  // namespace

void fuzz_png(const std::string& input) {
  check_png(input);
  check_png(with_checksums(input));
}

void fuzz_jpeg(const std::string& input) {
  const at::Tensor colours = decoded(data::decode_jpeg, input, {});
  decoded(data::decode_jpeg, input, {.channels = 1});
  const at::Tensor small = decoded(data::decode_jpeg, input, {.min_height = 1, .min_width = 1});
  if (!colours.defined()) return;
  expect(small.defined(), "a JPEG file that can be read can be read smaller");
  expect(small.size(0) == (colours.size(0) + 7) / 8, "an eighth of the rows is enough");
}

void fuzz_tiff(const std::string& input) {
  data::exif_orientation(input);
  const at::Tensor colours = decoded(data::decode_tiff, input, {}),
                   gray = decoded(data::decode_tiff, input, {.channels = 1}),
                   numbers = decoded(data::decode_tiff, input, {.values = data::PixelValues::Numbers});
  expect(colours.defined() == gray.defined() && colours.defined() == numbers.defined(),
         "a TIFF file can be read in one way if it can be in another");
}

void fuzz_webp(const std::string& input) {
  data::exif_orientation(input);
  const at::Tensor colours = decoded(data::decode_webp, input, {}),
                   gray = decoded(data::decode_webp, input, {.channels = 1});
  expect(colours.defined() == gray.defined(), "a WebP file can be read with 1 channel if it can be with 3");
}

const std::vector<std::string>& png_seeds() {
  static const std::vector<std::string> seeds = {
      data::encode_png(picture(5, 7)),
      data::encode_png(picture(9, 4, 1, 1)),
      make_png({.width = 4,
                .bit_depth = 2,
                .color_type = 3,
                .chunks = png_chunk("PLTE", bytes_of({1, 2, 3, 4, 5, 6})) + png_chunk("tRNS", bytes_of({7})),
                .rows = bytes_of({0, 0x11})}),
      make_png({.width = 3,
                .height = 3,
                .interlaced = true,
                .rows = bytes_of({0, 1, 0, 3, 1, 7, 9, 2, 2, 3, 8, 4, 4, 5, 6})}),
      make_png({.bit_depth = 16,
                .color_type = 6,
                .chunks = png_chunk("gAMA", big_endian(45455)),
                .rows = bytes_of({0, 9, 1, 8, 2, 7, 3, 6, 4})}),
      "",
  };
  return seeds;
}

const std::vector<std::string>& tiff_seeds() {
  // A 4 x 3 image of gray in one strip, and the directory behind it: nine tags of 12 bytes each.
  const auto tag = [](int number, int type, int value) {
    return bytes_of({number & 255, number >> 8, type, 0, 1, 0, 0, 0, value, 0, 0, 0});
  };
  const auto gray = [&](int compression, const std::string& strip) {
    const auto size = static_cast<int>(strip.size());
    const std::string head = std::string("II*\0", 4) + bytes_of({8 + size, 0, 0, 0}) + strip + bytes_of({9, 0});
    return head + tag(256, 3, 4) + tag(257, 3, 3) + tag(258, 3, 8) + tag(259, 3, compression & 255) + tag(262, 3, 1) +
           tag(273, 4, 8) + tag(274, 3, 6) + tag(278, 3, 3) + tag(279, 4, size) + std::string(4, '\0');
  };
  static const std::vector<std::string> seeds = {
      gray(1, bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})),
      gray(5, bytes_of({128, 0, 64, 64, 48, 32, 20, 12, 7, 4, 2, 65, 64, 176, 100, 4})),
      gray(8, bytes_of({120, 156, 99, 100, 98, 102, 97, 101, 99, 231, 224, 228, 226, 230, 1, 0, 1, 120, 0, 79})),
      "",
  };
  return seeds;
}

const std::vector<std::string>& webp_seeds() {
  static const std::vector<std::string> seeds = {
      // Two pixels each, lossless and lossy.
      bytes_of({82, 73, 70, 70,  38, 0,   0,  0,  87,  69,  66, 80,  86, 80,  56,  76, 25,  0,  0,  0,   47,  1, 0,
                0,  0,  15, 112, 1,  227, 69, 32, 200, 182, 13, 109, 59, 198, 231, 63, 216, 15, 25, 209, 255, 0, 0}),
      bytes_of({82, 73,  70, 70,  48,  0,   0,   0,  87, 69,  66,  80, 86,  80,  56,  32,  36,  0,   0,
                0,  176, 1,  0,   157, 1,   42,  2,  0,  1,   0,   12, 192, 206, 37,  160, 2,   116, 1,
                14, 254, 2,  236, 0,   254, 165, 53, 85, 243, 138, 40, 8,   104, 211, 204, 128, 0}),
      "RIFF",
      "",
  };
  return seeds;
}

const std::vector<std::string>& jpeg_seeds() {
  static const std::vector<std::string> seeds = {
      data::encode_jpeg(picture(9, 17), 75),
      data::encode_jpeg(picture(20, 8, 1, 1), 30),
      "",
  };
  return seeds;
}

}  // namespace levin::testing
