#pragma once
#include <levin/core/options/option.h>
#include <levin/data/transforms/engine/interpolate.h>
#include <levin/data/transforms/one_or_more.h>
#include <levin/data/transforms/transform.h>

#include <string>

namespace levin::data {

struct ResizeOptions {
  OneOrMore<int64_t> size =
      LEVIN_OPTION(size, {}, "Pixels of the shorter side, or [height, width]; required", {.min = 1});
  std::string interpolation = LEVIN_OPTION(interpolation, "bilinear", "How pixels between pixels are found",
                                           {.choices = {"nearest", "bilinear", "bicubic"}});
  bool antialias = LEVIN_OPTION(antialias, true, "Weigh all pixels under an output pixel where images become smaller");
};

/// Resizes the images of `input`; a single number as size keeps the aspect ratio.
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.Resize.html
class Resize final : public Transform {
 public:
  using Options = ResizeOptions;
  /// Throws levin::UsageError if the size is missing.
  explicit Resize(Options options);
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  Options options_;
  Interpolation interpolation_;
};

}  // namespace levin::data
