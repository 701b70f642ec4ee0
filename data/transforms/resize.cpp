#include <levin/data/transforms/resize.h>
#include <levin/data/transforms/image_target.h>

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
  ImageTarget target = image_target_of(batch, "Resize");
  const std::array<int64_t, 2> size = options_.size.size() == 1
                                          ? with_shorter_side(options_.size[0], target.height(), target.width())
                                          : height_and_width(options_.size, "Resize.size");
  if (size[0] == target.height() && size[1] == target.width()) return;
  resize_target(target, size, options_.interpolation, options_.antialias);
  set_image_target(batch, target);
}

}  // namespace levin::data
