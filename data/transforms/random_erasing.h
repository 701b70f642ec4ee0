#pragma once
#include <levin/core/options/option.h>
#include <levin/data/transforms/one_or_more.h>
#include <levin/data/transforms/transform.h>

#include <array>

namespace levin::data {

struct RandomErasingOptions {
  double p = LEVIN_OPTION(p, 0.5, "Probability for each image", {.min = 0, .max = 1});
  OneOrMore<double> scale =
      LEVIN_OPTION(scale, {0.02, 0.33}, "Least and greatest part of the image's area", {.exclusive_min = 0});
  OneOrMore<double> ratio =
      LEVIN_OPTION(ratio, {0.3, 3.3}, "Least and greatest height over width", {.exclusive_min = 0});
  OneOrMore<double> value = LEVIN_OPTION(value, {0}, "New value of the pixels: of all channels, or of each");
  bool random_value = LEVIN_OPTION(random_value, false, "Draw new values from the standard normal distribution");
};

/// Overwrites a random rectangle of images of `input`, in place.
///
/// `random_value` is torchvision's `value="random"`, for floating-point images.
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.RandomErasing.html
class RandomErasing final : public Transform {
 public:
  using Options = RandomErasingOptions;
  /// Throws levin::UsageError for values that are not a range.
  explicit RandomErasing(Options options = {});
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  Options options_;
  std::array<double, 2> scale_, ratio_;
};

}  // namespace levin::data
