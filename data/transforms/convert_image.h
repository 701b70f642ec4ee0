#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/option.h>
#include <levin/data/transforms/transform.h>

#include <string>

namespace levin::data {

struct ConvertImageOptions {
  std::string dtype = LEVIN_OPTION(dtype, "float32", "Type of the pixels",
                                   {.choices = {"uint8", "float16", "bfloat16", "float32", "float64"}});
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

}  // namespace levin::data
