#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/option.h>
#include <levin/data/transforms/one_or_more.h>
#include <levin/data/transforms/padding_mode.h>
#include <levin/data/transforms/transform.h>

#include <array>

namespace levin::data {

struct CenterCropOptions {
  OneOrMore<int64_t> size = LEVIN_OPTION(size, {}, "Pixels: a square, or [height, width]; required", {.min = 1});
};

/// Crops the centre of the images of `input`; smaller images get a border of zeros.
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.CenterCrop.html
class CenterCrop final : public Transform {
 public:
  using Options = CenterCropOptions;
  /// Throws levin::UsageError if the size is missing.
  explicit CenterCrop(Options options);
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  std::array<int64_t, 2> size_;
};

struct RandomCropOptions {
  OneOrMore<int64_t> size = LEVIN_OPTION(size, {}, "Pixels: a square, or [height, width]; required", {.min = 1});
  OneOrMore<int64_t> padding = LEVIN_OPTION(
      padding, {0}, "Border added first: of all sides, [left and right, top and bottom], or [left, top, right, bottom]",
      {.min = 0});
  bool pad_if_needed = LEVIN_OPTION(pad_if_needed, false, "Add a border to images smaller than size");
  OneOrMore<double> fill = LEVIN_OPTION(fill, {0}, "Value of a constant border: of all channels, or of each");
  Choice<PaddingMode> padding_mode = LEVIN_OPTION(padding_mode, PaddingMode::Constant, "What the border shows");
};

/// Crops each image of `input` at a random position.
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.RandomCrop.html
class RandomCrop final : public Transform {
 public:
  using Options = RandomCropOptions;
  /// Throws levin::UsageError if the size is missing and for an invalid number of paddings.
  explicit RandomCrop(Options options);
  /// Throws levin::Error if an image is smaller than the window, unless pad_if_needed is set.
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  Options options_;
  std::array<int64_t, 2> size_;
  int64_t left_ = 0, top_ = 0, right_ = 0, bottom_ = 0;
};

}  // namespace levin::data
