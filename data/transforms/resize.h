#pragma once
#include <levin/core/options/option.h>
#include <levin/data/transforms/interpolation.h>
#include <levin/data/transforms/one_or_more.h>
#include <levin/data/transforms/transform.h>

namespace levin::data {

struct ResizeOptions {
  OneOrMore<int64_t> size =
      LEVIN_OPTION(size, {}, "Pixels of the shorter side, or [height, width]; required", {.min = 1});
  Choice<Interpolation> interpolation =
      LEVIN_OPTION(interpolation, Interpolation::Bilinear, "How pixels between pixels are found");
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
};

}  // namespace levin::data
