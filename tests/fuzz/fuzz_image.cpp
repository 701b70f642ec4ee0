#include <ATen/ops/equal.h>
#include <levin/core/system/error.h>
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

const std::vector<std::string>& jpeg_seeds() {
  static const std::vector<std::string> seeds = {
      data::encode_jpeg(picture(9, 17), 75),
      data::encode_jpeg(picture(20, 8, 1, 1), 30),
      "",
  };
  return seeds;
}

}  // namespace levin::testing
