#pragma once
#include <levin/core/options/option.h>
#include <levin/data/transforms/interpolation.h>
#include <levin/data/transforms/one_or_more.h>
#include <levin/data/transforms/transform.h>

#include <array>

namespace levin::data {

struct RandomResizedCropOptions {
  OneOrMore<int64_t> size = LEVIN_OPTION(size, {}, "Pixels: a square, or [height, width]; required", {.min = 1});
  OneOrMore<double> scale =
      LEVIN_OPTION(scale, {0.08, 1}, "Least and greatest part of the image's area", {.exclusive_min = 0});
  OneOrMore<double> ratio =
      LEVIN_OPTION(ratio, {3.0 / 4, 4.0 / 3}, "Least and greatest width over height", {.exclusive_min = 0});
  Choice<Interpolation> interpolation =
      LEVIN_OPTION(interpolation, Interpolation::Bilinear, "How pixels between pixels are found");
  bool antialias = LEVIN_OPTION(antialias, true, "Weigh all pixels under an output pixel where images become smaller");
};

/// Crops each image of `input` to a window of random size, shape and position, and resizes it to `size`.
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.RandomResizedCrop.html
class RandomResizedCrop final : public Transform {
 public:
  using Options = RandomResizedCropOptions;
  /// Throws levin::UsageError if the size is missing and for values that are not a range.
  explicit RandomResizedCrop(Options options);
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  std::array<int64_t, 2> size_;
  std::array<double, 2> scale_, ratio_;
  Interpolation interpolation_;
  bool antialias_;
};

}  // namespace levin::data
