#pragma once
#include <levin/core/options/option.h>
#include <levin/data/transforms/one_or_more.h>
#include <levin/data/transforms/transform.h>

namespace levin::data {

struct NormalizeOptions {
  OneOrMore<double> mean = LEVIN_OPTION(mean, {}, "Mean of each channel, or of all; required");
  OneOrMore<double> std =
      LEVIN_OPTION(std, {}, "Standard deviation of each channel, or of all; required", {.exclusive_min = 0});
};

/// `(input - mean) / std` for each channel of floating-point images.
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.Normalize.html
class Normalize final : public Transform {
 public:
  using Options = NormalizeOptions;
  /// Throws levin::UsageError if the mean or the standard deviation is missing.
  explicit Normalize(Options options);
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  Options options_;
};

}  // namespace levin::data
