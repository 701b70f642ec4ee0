#include <levin/data/transforms/convert_image.h>
#include <levin/data/transforms/engine/image_batch.h>

namespace levin::data {
namespace {

at::ScalarType scalar_type_of(PixelType type) {
  switch (type) {
    case PixelType::UInt8:
      return at::kByte;
    case PixelType::Float16:
      return at::kHalf;
    case PixelType::BFloat16:
      return at::kBFloat16;
    case PixelType::Float64:
      return at::kDouble;
    case PixelType::Float32:
      break;
  }
  return at::kFloat;
}

/// With this factor each of the 256 values covers an equal part of 0..1, and 1 becomes 255.
constexpr double kToBytes = 255.999;

}  // namespace

ConvertImage::ConvertImage(Options options) : type_(scalar_type_of(options.dtype)), scale_(options.scale) {
  schema_of<Options>().check(&options, "ConvertImage");
}

void ConvertImage::operator()(Batch& batch, std::span<Rng> /*rngs*/) const {
  const at::Tensor images = images_of(batch, "ConvertImage");
  const bool from_bytes = images.scalar_type() == at::kByte, to_bytes = type_ == at::kByte;
  if (!scale_ || from_bytes == to_bytes) {
    batch.set("input", images.to(type_));
  } else if (from_bytes) {
    batch.set("input", images.to(type_).div_(255));
  } else {
    const at::ScalarType exact = images.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    batch.set("input", images.to(exact).mul(kToBytes).clamp_(0, 255).to(at::kByte));
  }
}

}  // namespace levin::data
