#pragma once
#include <levin/core/options/option.h>
#include <levin/data/transforms/interpolation.h>
#include <levin/data/transforms/one_or_more.h>
#include <levin/data/transforms/transform.h>

#include <array>
#include <optional>

namespace levin::data {

struct RandomRotationOptions {
  OneOrMore<double> degrees =
      LEVIN_OPTION(degrees, {}, "Greatest angle in both directions, or [least, greatest], counter-clockwise; required");
  Choice<Interpolation> interpolation =
      LEVIN_OPTION(interpolation, Interpolation::Nearest, "How pixels between pixels are found",
                   {.choices = {"nearest", "bilinear"}});
  OneOrMore<double> fill = LEVIN_OPTION(fill, {0}, "Value outside of the image: of all channels, or of each");
};

/// Rotates each image of `input` by a random angle about its centre; the size stays.
///
/// With bilinear interpolation, pixels that lie partly outside of the image are mixed with `fill`.
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.RandomRotation.html
class RandomRotation final : public Transform {
 public:
  using Options = RandomRotationOptions;
  /// Throws levin::UsageError if the degrees are missing or not a range.
  explicit RandomRotation(Options options);
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  Options options_;
  std::array<double, 2> degrees_;
};

struct RandomAffineOptions {
  OneOrMore<double> degrees =
      LEVIN_OPTION(degrees, {}, "Greatest angle in both directions, or [least, greatest], clockwise; required");
  OneOrMore<double> translate =
      LEVIN_OPTION(translate, {}, "Greatest move as parts of [width, height], in both directions; unset: none",
                   {.min = 0, .max = 1});
  OneOrMore<double> scale =
      LEVIN_OPTION(scale, {}, "Least and greatest factor of the size; unset: none", {.exclusive_min = 0});
  OneOrMore<double> shear =
      LEVIN_OPTION(shear, {}, "Greatest angle along x in both directions, [least, greatest], or both for x and for y");
  Choice<Interpolation> interpolation =
      LEVIN_OPTION(interpolation, Interpolation::Nearest, "How pixels between pixels are found",
                   {.choices = {"nearest", "bilinear"}});
  OneOrMore<double> fill = LEVIN_OPTION(fill, {0}, "Value outside of the image: of all channels, or of each");
};

/// Rotates, translates, scales and shears each image of `input` at random about its centre; the size stays.
///
/// With bilinear interpolation, pixels that lie partly outside of the image are mixed with `fill`.
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.RandomAffine.html
class RandomAffine final : public Transform {
 public:
  using Options = RandomAffineOptions;
  /// Throws levin::UsageError if the degrees are missing, and for values that are not a range.
  explicit RandomAffine(Options options);
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  using Range = std::array<double, 2>;

  Options options_;
  Range degrees_;
  std::optional<Range> scale_ = {}, shear_x_ = {}, shear_y_ = {};
};

}  // namespace levin::data
