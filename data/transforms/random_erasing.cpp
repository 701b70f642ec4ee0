#include <levin/data/transforms/random_erasing.h>
#include <ATen/Dispatch.h>
#include <levin/core/system/error.h>
#include <levin/data/transforms/engine/image_batch.h>
#include <levin/data/transforms/engine/random_box.h>

#include <utility>
#include <vector>

namespace levin::data {
namespace {

/// Overwrites a box of an image [channels, height, width] with `value(channel)`.
template <class Pixel, class Value>
void erase(Pixel* image, int64_t channels, int64_t height, int64_t width, const Box& box, const Value& value) {
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = box.top; y < box.top + box.height; ++y) {
      Pixel* row = image + (c * height + y) * width + box.left;
      for (int64_t x = 0; x < box.width; ++x) row[x] = static_cast<Pixel>(value(c));
    }
  }
}

}  // namespace

RandomErasing::RandomErasing(Options options)
    : options_(std::move(options)),
      scale_(low_and_high(options_.scale, "RandomErasing.scale")),
      ratio_(low_and_high(options_.ratio, "RandomErasing.ratio")) {
  schema_of<Options>().check(&options_, "RandomErasing");
}

void RandomErasing::operator()(Batch& batch, std::span<Rng> rngs) const {
  const at::Tensor images = images_of(batch, rngs, "RandomErasing");
  if (options_.random_value && !images.is_floating_point()) {
    throw Error("RandomErasing: random_value needs floating-point images, got ", describe(images),
                "; put ConvertImage before it");
  }
  const std::vector<double> value = pixel_for_channels(images, options_.value, "RandomErasing.value");
  const int64_t channels = images.size(1), height = images.size(2), width = images.size(3);
  const BoxShape shape = {.scale = scale_, .ratio = ratio_, .width_over_height = false, .whole_sides = false};
  AT_DISPATCH_FLOATING_TYPES_AND3(at::kByte, at::kHalf, at::kBFloat16, images.scalar_type(), "RandomErasing", [&] {
    scalar_t* image = images.mutable_data_ptr<scalar_t>();
    for (Rng& rng : rngs) {
      const auto box = flip_coin(rng, options_.p) ? random_box(rng, height, width, shape) : std::nullopt;
      if (box && options_.random_value)
        erase(image, channels, height, width, *box, [&](int64_t) { return rng.normal(); });
      else if (box)
        erase(image, channels, height, width, *box, [&](int64_t c) { return value[static_cast<size_t>(c)]; });
      image += channels * height * width;
    }
  });
  batch.set("input", images);
}

}  // namespace levin::data
