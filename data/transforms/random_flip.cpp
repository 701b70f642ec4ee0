#include <levin/data/transforms/random_flip.h>
#include <levin/data/transforms/engine/image_batch.h>
#include <levin/data/transforms/image_target.h>

#include <vector>

namespace levin::data {
namespace {

void flip_some(Batch& batch, std::span<Rng> rngs, const char* transform, double p, bool top_and_bottom) {
  ImageTarget target = image_target_of(batch, rngs, transform);
  std::vector<bool> chosen;
  for (Rng& rng : rngs) chosen.push_back(flip_coin(rng, p));
  flip_target(target, chosen, top_and_bottom);
  set_image_target(batch, target);
}

}  // namespace

RandomHorizontalFlip::RandomHorizontalFlip(Options options) : options_(options) {
  schema_of<Options>().check(&options_, "RandomHorizontalFlip");
}

void RandomHorizontalFlip::operator()(Batch& batch, std::span<Rng> rngs) const {
  flip_some(batch, rngs, "RandomHorizontalFlip", options_.p, /*top_and_bottom=*/false);
}

RandomVerticalFlip::RandomVerticalFlip(Options options) : options_(options) {
  schema_of<Options>().check(&options_, "RandomVerticalFlip");
}

void RandomVerticalFlip::operator()(Batch& batch, std::span<Rng> rngs) const {
  flip_some(batch, rngs, "RandomVerticalFlip", options_.p, /*top_and_bottom=*/true);
}

}  // namespace levin::data
