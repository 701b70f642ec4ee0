#include <levin/data/transforms/random_resized_crop.h>
#include <ATen/ops/empty.h>
#include <levin/data/transforms/engine/image_batch.h>
#include <levin/data/transforms/engine/interpolate.h>
#include <levin/data/transforms/engine/random_box.h>

#include <algorithm>
#include <cmath>
#include <utility>

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
  const at::Tensor images = images_of(batch, rngs, "RandomResizedCrop");
  const int64_t height = images.size(2), width = images.size(3);
  at::Tensor out = at::empty({images.size(0), images.size(1), size_[0], size_[1]}, images.options());
  for (int64_t i = 0; i < images.size(0); ++i) {
    Rng& rng = rngs[static_cast<size_t>(i)];
    const auto drawn = random_box(rng, height, width, {.scale = scale_, .ratio = ratio_});
    const Box box = drawn.value_or(middle_box(height, width, ratio_));
    const at::Tensor window = images.narrow(0, i, 1).narrow(2, box.top, box.height).narrow(3, box.left, box.width);
    resize_into(out.narrow(0, i, 1), window, interpolation_, antialias_);
  }
  batch.set("input", std::move(out));
}

}  // namespace levin::data
