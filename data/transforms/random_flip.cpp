#include <levin/data/transforms/random_flip.h>
#include <ATen/Dispatch.h>
#include <levin/data/transforms/engine/image_batch.h>

#include <algorithm>

namespace levin::data {
namespace {

/// Calls `flip(rows, height, width)` for each channel of each randomly chosen image.
template <class Flip>
void flip_some(Batch& batch, std::span<Rng> rngs, const char* transform, double p, const Flip& flip) {
  const at::Tensor images = images_of(batch, rngs, transform);
  const int64_t channels = images.size(1), height = images.size(2), width = images.size(3);
  AT_DISPATCH_FLOATING_TYPES_AND3(at::kByte, at::kHalf, at::kBFloat16, images.scalar_type(), "random_flip", [&] {
    scalar_t* image = images.mutable_data_ptr<scalar_t>();
    for (Rng& rng : rngs) {
      const bool chosen = flip_coin(rng, p);
      for (int64_t c = 0; c < channels; ++c, image += height * width) {
        if (chosen) flip(image, height, width);
      }
    }
  });
  batch.set("input", images);
}

}  // namespace

RandomHorizontalFlip::RandomHorizontalFlip(Options options) : options_(options) {
  schema_of<Options>().check(&options_, "RandomHorizontalFlip");
}

void RandomHorizontalFlip::operator()(Batch& batch, std::span<Rng> rngs) const {
  flip_some(batch, rngs, "RandomHorizontalFlip", options_.p, [](auto* image, int64_t height, int64_t width) {
    for (int64_t y = 0; y < height; ++y) std::reverse(image + y * width, image + (y + 1) * width);
  });
}

RandomVerticalFlip::RandomVerticalFlip(Options options) : options_(options) {
  schema_of<Options>().check(&options_, "RandomVerticalFlip");
}

void RandomVerticalFlip::operator()(Batch& batch, std::span<Rng> rngs) const {
  flip_some(batch, rngs, "RandomVerticalFlip", options_.p, [](auto* image, int64_t height, int64_t width) {
    for (int64_t y = 0; y < height / 2; ++y)
      std::swap_ranges(image + y * width, image + (y + 1) * width, image + (height - 1 - y) * width);
  });
}

}  // namespace levin::data
