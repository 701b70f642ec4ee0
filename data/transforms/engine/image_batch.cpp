#include <levin/data/transforms/engine/image_batch.h>
#include <levin/core/system/error.h>

namespace levin::data {
namespace {

const char* name_of(at::ScalarType type) {
  switch (type) {
    case at::kByte:
      return "uint8";
    case at::kLong:
      return "int64";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    default:
      return c10::toString(type);
  }
}

}  // namespace

std::string describe(const at::Tensor& tensor) { return c10::str(name_of(tensor.scalar_type()), " ", tensor.sizes()); }

at::Tensor images_of(const Batch& batch, const char* transform) {
  const at::Tensor& input = batch.input();
  const bool fits = input.scalar_type() == at::kByte || input.is_floating_point();
  const bool has_pixels = input.dim() == 4 && input.size(1) * input.size(2) * input.size(3) > 0;
  if (!has_pixels || !fits || !input.is_cpu()) {
    throw Error(transform, ": needs `input` as images [samples, channels, height, width] of uint8 or floating point ",
                "on the CPU, got ", describe(input), input.is_cpu() ? "" : " on another device");
  }
  return input.contiguous();
}

at::Tensor images_of(const Batch& batch, std::span<const Rng> rngs, const char* transform) {
  at::Tensor images = images_of(batch, transform);
  if (static_cast<int64_t>(rngs.size()) != images.size(0)) {
    throw Error(transform, ": ", images.size(0), " samples, but ", rngs.size(), " random number generators");
  }
  return images;
}

std::vector<double> for_channels(const at::Tensor& images, const OneOrMore<double>& values, const std::string& option) {
  const int64_t channels = images.size(1);
  if (values.size() == 1) return std::vector<double>(static_cast<size_t>(channels), values[0]);
  if (static_cast<int64_t>(values.size()) == channels) return values.values;
  throw Error(option, ": ", values.size(), " values for images of ", channels, " channels");
}

std::vector<double> pixel_for_channels(const at::Tensor& images, const OneOrMore<double>& values,
                                       const std::string& option) {
  std::vector<double> pixel = for_channels(images, values, option);
  for (const double value : pixel) {
    if (images.scalar_type() == at::kByte && !(value >= 0 && value <= 255))
      throw Error(option, ": ", value, " is no value of uint8 images");
  }
  return pixel;
}

}  // namespace levin::data
