#include <levin/data/transforms/resize.h>
#include <ATen/ops/empty.h>
#include <levin/data/transforms/engine/image_batch.h>
#include <levin/data/transforms/engine/interpolate.h>

#include <algorithm>
#include <array>
#include <utility>

namespace levin::data {
namespace {

/// Returns [height, width]; the longer side is rounded down, and has at least one pixel.
std::array<int64_t, 2> with_shorter_side(int64_t size, int64_t height, int64_t width) {
  if (height <= width) return {size, std::max<int64_t>(1, size * width / std::max<int64_t>(1, height))};
  return {std::max<int64_t>(1, size * height / std::max<int64_t>(1, width)), size};
}

}  // namespace

Resize::Resize(Options options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "Resize");
  height_and_width(options_.size, "Resize.size");
}

void Resize::operator()(Batch& batch, std::span<Rng> /*rngs*/) const {
  const at::Tensor images = images_of(batch, "Resize");
  const auto [height, width] = options_.size.size() == 1
                                   ? with_shorter_side(options_.size[0], images.size(2), images.size(3))
                                   : height_and_width(options_.size, "Resize.size");
  if (height == images.size(2) && width == images.size(3)) return;
  at::Tensor out = at::empty({images.size(0), images.size(1), height, width}, images.options());
  resize_into(out, images, options_.interpolation, options_.antialias);
  batch.set("input", std::move(out));
}

}  // namespace levin::data
