#include <levin/data/transforms/color_jitter.h>
#include <ATen/Dispatch.h>
#include <levin/core/system/error.h>
#include <levin/data/transforms/engine/color.h>
#include <levin/data/transforms/engine/image_batch.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

using Range = std::array<double, 2>;

/// Returns the range of a factor; unset if the range is only `neutral`, the value that changes nothing.
std::optional<Range> range_of(const OneOrMore<double>& given, double neutral, double least, const std::string& option) {
  Range range = {neutral, neutral};
  if (given.size() == 1) {
    if (given[0] < 0) throw UsageError(option, ": expected at least 0 for a single number, got ", given[0]);
    range = {std::max(least, neutral - given[0]), neutral + given[0]};
  } else {
    range = low_and_high(given, option);
  }
  if (range[0] == neutral && range[1] == neutral) return {};
  return range;
}

void change(const ColorPlanes& planes, size_t what, float by) {
  switch (what) {
    case 0:
      return planes.adjust_brightness(by);
    case 1:
      return planes.adjust_contrast(by);
    case 2:
      return planes.adjust_saturation(by);
    default:
      return planes.adjust_hue(by);
  }
}

}  // namespace

ColorJitter::ColorJitter(Options options) {
  schema_of<Options>().check(&options, "ColorJitter");
  ranges_ = {range_of(options.brightness, 1, 0, "ColorJitter.brightness"),
             range_of(options.contrast, 1, 0, "ColorJitter.contrast"),
             range_of(options.saturation, 1, 0, "ColorJitter.saturation"),
             range_of(options.hue, 0, -0.5, "ColorJitter.hue")};
}

void ColorJitter::operator()(Batch& batch, std::span<Rng> rngs) const {
  const at::Tensor images = images_of(batch, rngs, "ColorJitter");
  const int64_t channels = images.size(1), count = images.size(2) * images.size(3);
  if (channels != 1 && channels != 3) throw Error("ColorJitter: needs 1 or 3 channels, got ", describe(images));
  const bool bytes = images.scalar_type() == at::kByte;
  std::vector<float> scratch(static_cast<size_t>(channels * count));
  const ColorPlanes planes = {.pixels = scratch.data(),
                              .channels = channels,
                              .count = count,
                              .white = bytes ? 255.0F : 1.0F,
                              .whole_numbers = bytes};
  AT_DISPATCH_FLOATING_TYPES_AND3(at::kByte, at::kHalf, at::kBFloat16, images.scalar_type(), "ColorJitter", [&] {
    scalar_t* image = images.mutable_data_ptr<scalar_t>();
    for (Rng& rng : rngs) {
      std::array<size_t, 4> order = {0, 1, 2, 3};
      for (size_t i = 3; i > 0; --i)
        std::swap(order[i], order[static_cast<size_t>(rng.randint(0, static_cast<int64_t>(i) + 1))]);
      std::copy_n(image, scratch.size(), scratch.begin());
      for (const size_t what : order) {
        if (!ranges_[what]) continue;
        change(planes, what, static_cast<float>(rng.uniform((*ranges_[what])[0], (*ranges_[what])[1])));
      }
      for (const float value : scratch) *image++ = static_cast<scalar_t>(value);
    }
  });
  batch.set("input", images);
}

}  // namespace levin::data
