#include <levin/core/system/error.h>
#include <levin/data/files/image_codecs.h>
#include <webp/decode.h>

#include <algorithm>

namespace levin::data {
namespace {

/// An image of one colour takes no bits for its pixels, so that a small file may hold a large one.
constexpr int64_t kMostWebpPixels = 4096, kAlwaysPixels = int64_t{1} << 24;

[[noreturn]] void throw_broken_webp(const std::string& name, bool is_cut_off) {
  if (is_cut_off) throw UsageError(name, ": the file is cut off; get it again");
  throw UsageError(name, ": broken WebP data; get the file again");
}

}  // namespace

at::Tensor decode_webp(std::string_view bytes, const std::string& name, const ImageOptions& options) {
  const auto* const data = reinterpret_cast<const uint8_t*>(bytes.data());
  WebPBitstreamFeatures features = {};
  const VP8StatusCode status = WebPGetFeatures(data, bytes.size(), &features);
  if (status != VP8_STATUS_OK) throw_broken_webp(name, status == VP8_STATUS_NOT_ENOUGH_DATA);
  if (features.has_animation)
    throw UsageError(name, ": a moving WebP, of several images; save the one that is meant as a file of its own");
  if (options.values == PixelValues::Indices)
    throw UsageError(name, ": a WebP file has colours, and no numbers of classes; save masks as PNG");
  detail::check_image(name, options, features.height, features.width,
                      std::max(kAlwaysPixels, static_cast<int64_t>(bytes.size()) * kMostWebpPixels));
  const at::Tensor image = detail::empty_image(features.height, features.width, 3);
  const size_t size = image.nbytes();
  if (!WebPDecodeRGBInto(data, bytes.size(), image.mutable_data_ptr<uint8_t>(), size, features.width * 3))
    throw_broken_webp(name, /*is_cut_off=*/false);
  return detail::as_asked(image, options);
}

}  // namespace levin::data
