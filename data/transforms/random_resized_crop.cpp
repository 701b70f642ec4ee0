#include <levin/data/transforms/random_resized_crop.h>
#include <levin/data/transforms/image_target.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace levin::data {
namespace {

/// Returns the largest centred window whose ratio is within the bounds.
Box middle_box(int64_t height, int64_t width, const std::array<double, 2>& ratio) {
  const double own = static_cast<double>(width) / static_cast<double>(height);
  Box box = {.height = height, .width = width};
  if (own < ratio[0]) box.height = std::max<int64_t>(1, std::llround(static_cast<double>(width) / ratio[0]));
  if (own > ratio[1]) box.width = std::max<int64_t>(1, std::llround(static_cast<double>(height) * ratio[1]));
  box.top = (height - box.height) / 2;
  box.left = (width - box.width) / 2;
  return box;
}

}  // namespace

RandomResizedCrop::RandomResizedCrop(Options options)
    : size_(height_and_width(options.size, "RandomResizedCrop.size")),
      scale_(low_and_high(options.scale, "RandomResizedCrop.scale")),
      ratio_(low_and_high(options.ratio, "RandomResizedCrop.ratio")),
      interpolation_(options.interpolation),
      antialias_(options.antialias) {
  schema_of<Options>().check(&options, "RandomResizedCrop");
}

void RandomResizedCrop::operator()(Batch& batch, std::span<Rng> rngs) const {
  ImageTarget target = image_target_of(batch, rngs, "RandomResizedCrop");
  std::vector<Box> windows;
  windows.reserve(rngs.size());
  for (Rng& rng : rngs) {
    const auto drawn = random_box(rng, target.height(), target.width(), {.scale = scale_, .ratio = ratio_});
    windows.push_back(drawn.value_or(middle_box(target.height(), target.width(), ratio_)));
  }
  resized_crop_target(target, windows, size_, interpolation_, antialias_);
  set_image_target(batch, target);
}

}  // namespace levin::data
