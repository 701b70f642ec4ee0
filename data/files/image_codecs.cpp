#include <levin/data/files/image_codecs.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>

namespace levin::data {

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }
bool is_png(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }
bool is_tiff(std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, 4);
  return begin == std::string_view("II*\0", 4) || begin == std::string_view("MM\0*", 4) ||
         begin == std::string_view("II+\0", 4) || begin == std::string_view("MM\0+", 4);
}
bool is_webp(std::string_view bytes) { return bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP"); }

namespace {

/// Returns `value` of each sample, [height, width, channels].
template <class To, class From, class Value>
at::Tensor each_sample(const at::Tensor& pixels, at::ScalarType type, const Value& value) {
  at::Tensor out = at::empty(pixels.sizes(), at::TensorOptions(type));
  const From* const from = pixels.const_data_ptr<From>();
  To* const to = out.mutable_data_ptr<To>();
  for (int64_t i = 0; i < out.numel(); ++i) to[i] = static_cast<To>(value(from[i]));
  return out;
}

at::Tensor with_values(const at::Tensor& pixels, PixelValues values) {
  if (pixels.scalar_type() == at::kByte)
    return values == PixelValues::Numbers ? pixels.to(at::kFloat).div_(255) : pixels;
  switch (values) {
    case PixelValues::Numbers:
      return each_sample<float, uint16_t>(pixels, at::kFloat, [](uint16_t value) { return value / 65535.0f; });
    case PixelValues::Indices:
      return each_sample<int32_t, uint16_t>(pixels, at::kInt, [](uint16_t value) { return value; });
    case PixelValues::Bytes:
      break;
  }
  return each_sample<uint8_t, uint16_t>(pixels, at::kByte, [](uint16_t value) { return value >> 8; });
}

}  // namespace

namespace detail {

void check_image(const std::string& name, const ImageOptions& options, int64_t height, int64_t width,
                 int64_t most_pixels) {
  if (options.channels != 1 && options.channels != 3) {
    throw UsageError(name, ": an image has 1 or 3 channels, not ", options.channels);
  }
  if (height * width > kMostPixels) {
    throw UsageError(name, ": ", width, " x ", height, " pixels are more than the ", kMostPixels,
                     " that are read; make the image smaller");
  }
  if (height * width > most_pixels) {
    throw UsageError(name, ": the header promises ", width, " x ", height,
                     " pixels, more than a file of its size can hold; get it again");
  }
}

at::Tensor empty_image(int64_t height, int64_t width, int64_t channels, at::ScalarType type) {
  return at::empty({height, width, channels}, at::TensorOptions(type));
}

at::Tensor as_asked(const at::Tensor& pixels, const ImageOptions& options) {
  const bool has_indices = options.values == PixelValues::Indices;
  const at::Tensor image =
      with_values(pixels, has_indices && pixels.size(2) == 3 ? PixelValues::Bytes : options.values);
  if (has_indices || image.size(2) == options.channels) return image;
  if (image.size(2) == 1) return image.expand({-1, -1, options.channels}).contiguous();
  if (image.scalar_type() == at::kByte) return luminance(image);
  return image.select(2, 0).mul(0.299).add_(image.select(2, 1), 0.587).add_(image.select(2, 2), 0.114).unsqueeze(2);
}

at::Tensor luminance(const at::Tensor& rgb) {
  at::Tensor gray = empty_image(rgb.size(0), rgb.size(1), 1);
  const auto* from = rgb.const_data_ptr<uint8_t>();
  auto* to = gray.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < gray.numel(); ++i, from += 3) {
    to[i] = static_cast<uint8_t>((299 * from[0] + 587 * from[1] + 114 * from[2] + 500) / 1000);
  }
  return gray;
}

at::Tensor interleaved(const at::Tensor& image, const char* what, int64_t most_side) {
  const at::Tensor planes = image.defined() && image.dim() == 2 ? image.unsqueeze(0) : image;
  const bool fits = planes.defined() && planes.dim() == 3 && planes.scalar_type() == at::kByte && planes.is_cpu() &&
                    (planes.size(0) == 1 || planes.size(0) == 3) && planes.numel() > 0;
  if (!fits) {
    throw UsageError(what, ": needs uint8 [height, width] or [1 or 3, height, width] on the CPU, got ",
                     image.defined() ? c10::str(image.scalar_type(), " ", image.sizes()) : "nothing");
  }
  if (planes.size(1) > most_side || planes.size(2) > most_side) {
    throw UsageError(what, ": sides have at most ", most_side, " pixels, got ", planes.size(2), " x ", planes.size(1));
  }
  return planes.permute({1, 2, 0}).contiguous();
}

}  // namespace detail
}  // namespace levin::data
