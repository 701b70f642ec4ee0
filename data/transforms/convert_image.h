#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/data/transforms/transform.h>

#include <cstdint>

namespace levin {
namespace data {

/// The type of an image's pixels.
enum class PixelType : uint8_t { UInt8, Float16, BFloat16, Float32, Float64 };

}  // namespace data

template <>
inline constexpr auto kWords<data::PixelType> = words_of<data::PixelType>({{"uint8", data::PixelType::UInt8},
                                                                           {"float16", data::PixelType::Float16},
                                                                           {"bfloat16", data::PixelType::BFloat16},
                                                                           {"float32", data::PixelType::Float32},
                                                                           {"float64", data::PixelType::Float64}});

namespace data {

struct ConvertImageOptions {
  Choice<PixelType> dtype = LEVIN_OPTION(dtype, PixelType::Float32, "Type of the pixels");
  bool scale = LEVIN_OPTION(scale, true, "Map 0..255 of uint8 to 0..1 of floating point, and back");
};

/// Changes the dtype of `input`. With `scale`, uint8 to floating point divides by 255, and the reverse multiplies.
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.ToDtype.html, as for images.
class ConvertImage final : public Transform {
 public:
  using Options = ConvertImageOptions;
  explicit ConvertImage(Options options = {});
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  at::ScalarType type_;
  bool scale_;
};

}  // namespace data
}  // namespace levin
