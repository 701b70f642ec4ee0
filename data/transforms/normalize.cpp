#include <levin/data/transforms/normalize.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>
#include <levin/data/transforms/engine/image_batch.h>

#include <utility>

namespace levin::data {

Normalize::Normalize(Options options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "Normalize");
  if (options_.mean.empty()) throw UsageError("Normalize.mean: missing; give one number for each channel");
  if (options_.std.empty()) throw UsageError("Normalize.std: missing; give one number for each channel");
}

void Normalize::operator()(Batch& batch, std::span<Rng> /*rngs*/) const {
  const at::Tensor images = images_of(batch, "Normalize");
  if (!images.is_floating_point()) {
    throw Error("Normalize: needs floating-point images, got ", describe(images), "; put ConvertImage before it");
  }
  const auto values = [&](const OneOrMore<double>& given, const char* option) {
    return at::tensor(for_channels(images, given, option), images.options()).view({-1, 1, 1});
  };
  images.sub_(values(options_.mean, "Normalize.mean")).div_(values(options_.std, "Normalize.std"));
  batch.set("input", images);
}

}  // namespace levin::data
