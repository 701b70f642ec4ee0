#pragma once
#include <levin/core/options/option.h>
#include <levin/data/transforms/transform.h>

namespace levin::data {

struct RandomFlipOptions {
  double p = LEVIN_OPTION(p, 0.5, "Probability for each image", {.min = 0, .max = 1});
};

/// Flips images of `input` horizontally, in place.
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.RandomHorizontalFlip.html
class RandomHorizontalFlip final : public Transform {
 public:
  using Options = RandomFlipOptions;
  explicit RandomHorizontalFlip(Options options = {});
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  Options options_;
};

/// Flips images of `input` vertically, in place.
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.RandomVerticalFlip.html
class RandomVerticalFlip final : public Transform {
 public:
  using Options = RandomFlipOptions;
  explicit RandomVerticalFlip(Options options = {});
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  Options options_;
};

}  // namespace levin::data
