#pragma once
#include <levin/core/options/option.h>
#include <levin/data/transforms/one_or_more.h>
#include <levin/data/transforms/transform.h>

#include <array>
#include <optional>

namespace levin::data {

struct ColorJitterOptions {
  OneOrMore<double> brightness =
      LEVIN_OPTION(brightness, {0}, "Factor between 1 - x (at least 0) and 1 + x, or between [low, high]", {.min = 0});
  OneOrMore<double> contrast = LEVIN_OPTION(contrast, {0}, "Factor, as brightness", {.min = 0});
  OneOrMore<double> saturation = LEVIN_OPTION(saturation, {0}, "Factor, as brightness", {.min = 0});
  OneOrMore<double> hue = LEVIN_OPTION(hue, {0}, "Turn of the colour circle between -x and x, or between [low, high]",
                                       {.min = -0.5, .max = 0.5});
};

/// Changes brightness, contrast, saturation and hue of each image of `input`, in a random order, in place.
///
/// Images have 3 channels (RGB) or 1; gray images keep their saturation and hue. Bytes are truncated to integers after
/// each change.
/// Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.v2.ColorJitter.html
class ColorJitter final : public Transform {
 public:
  using Options = ColorJitterOptions;
  /// Throws levin::UsageError for values that are not a range.
  explicit ColorJitter(Options options = {});
  /// Throws levin::Error for images of another number of channels.
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  /// Ranges of brightness, contrast, saturation and hue; unset: no change.
  std::array<std::optional<std::array<double, 2>>, 4> ranges_ = {};
};

}  // namespace levin::data
