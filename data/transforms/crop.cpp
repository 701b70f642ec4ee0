#include <levin/data/transforms/crop.h>
#include <levin/core/system/error.h>
#include <levin/data/transforms/engine/image_batch.h>
#include <levin/data/transforms/image_target.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

/// Returns the start of a centred window. Halves are rounded to even, as Python does.
int64_t centered(int64_t image, int64_t window) {
  if (window > image) return -((window - image) / 2);
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(image - window) / 2));
}

}  // namespace

CenterCrop::CenterCrop(Options options) : size_(height_and_width(options.size, "CenterCrop.size")) {
  schema_of<Options>().check(&options, "CenterCrop");
}

void CenterCrop::operator()(Batch& batch, std::span<Rng> /*rngs*/) const {
  ImageTarget target = image_target_of(batch, "CenterCrop");
  const Corner corner = {centered(target.height(), size_[0]), centered(target.width(), size_[1])};
  const std::vector<Corner> corners(static_cast<size_t>(target.images.size(0)), corner);
  const std::vector<double> zeros(static_cast<size_t>(target.images.size(1)), 0.0);
  crop_target(target, corners, size_, PaddingMode::Constant, zeros);
  set_image_target(batch, target);
}

RandomCrop::RandomCrop(Options options)
    : options_(std::move(options)), size_(height_and_width(options_.size, "RandomCrop.size")) {
  schema_of<Options>().check(&options_, "RandomCrop");
  const OneOrMore<int64_t>& padding = options_.padding;
  if (padding.size() != 1 && padding.size() != 2 && padding.size() != 4)
    throw UsageError("RandomCrop.padding: expected 1, 2 or 4 numbers, got ", padding.size());
  left_ = padding[0];
  top_ = padding[padding.size() == 1 ? 0 : 1];
  right_ = padding.size() == 4 ? padding[2] : left_;
  bottom_ = padding.size() == 4 ? padding[3] : top_;
}

void RandomCrop::operator()(Batch& batch, std::span<Rng> rngs) const {
  ImageTarget target = image_target_of(batch, rngs, "RandomCrop");
  // Without pad_if_needed these are 0; with it, the missing size is added on both sides.
  int64_t more_rows = 0, more_columns = 0;
  const int64_t height = target.height() + top_ + bottom_, width = target.width() + left_ + right_;
  if (options_.pad_if_needed) {
    more_rows = std::max<int64_t>(0, size_[0] - height);
    more_columns = std::max<int64_t>(0, size_[1] - width);
  } else if (height < size_[0] || width < size_[1]) {
    throw Error("RandomCrop: a window of ", size_[0], " x ", size_[1], " pixels is larger than the images with ",
                "padding, ", height, " x ", width, "; set padding or pad_if_needed");
  }
  std::vector<Corner> corners;
  corners.reserve(rngs.size());
  for (Rng& rng : rngs) {
    const int64_t top = rng.randint(0, height + 2 * more_rows - size_[0] + 1);
    const int64_t left = rng.randint(0, width + 2 * more_columns - size_[1] + 1);
    corners.push_back({top - top_ - more_rows, left - left_ - more_columns});
  }
  crop_target(target, corners, size_, options_.padding_mode,
              pixel_for_channels(target.images, options_.fill, "RandomCrop.fill"));
  set_image_target(batch, target);
}

}  // namespace levin::data
