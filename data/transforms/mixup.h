#pragma once
#include <levin/core/options/option.h>
#include <levin/data/transforms/transform.h>

#include <cstdint>

namespace levin::data {

struct MixupOptions {
  double alpha = LEVIN_OPTION(alpha, 1, "Both parameters of the share's beta distribution", {.exclusive_min = 0});
  int64_t num_classes = LEVIN_OPTION(num_classes, 0, "Number of classes; 0: targets are one-hot already", {.min = 0});
};

/// Mixes each sample with the one before it in the batch; `target` becomes float32 [samples, num_classes].
///
/// Put it last: the share comes from the random numbers of the batch's first sample, and a sample's partner depends on
/// the batch. It is for training batches, whose samples are shuffled.
/// Zhang et al. 2018, "mixup: Beyond Empirical Risk Minimization".
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.MixUp.html
class Mixup final : public Transform {
 public:
  using Options = MixupOptions;
  explicit Mixup(Options options = {});
  /// `input` is floating point of any shape; throws levin::Error for other types.
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  Options options_;
};

/// Pastes a random rectangle of the previous sample into each image; targets are mixed by area.
///
/// Like Mixup, but for images, including uint8. All images of a batch have the same rectangle.
/// Yun et al. 2019, "CutMix: Regularization Strategy to Train Strong Classifiers with Localizable Features".
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.CutMix.html
class CutMix final : public Transform {
 public:
  using Options = MixupOptions;
  explicit CutMix(Options options = {});
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  Options options_;
};

}  // namespace levin::data
