#include <levin/data/datasets/readers/split_images.h>
#include <levin/core/system/error.h>

#include <memory>
#include <utility>
#include <vector>

namespace levin::data {

DatasetPtr split_images(const DatasetPtr& images, double val_fraction, int64_t seed, bool training) {
  if (val_fraction == 0) return training ? images : nullptr;
  std::vector<Subset> parts = random_split(images, {1 - val_fraction, val_fraction}, seed);
  Subset& mine = parts[training ? 0 : 1];
  if (mine.size() == 0)
    throw UsageError("data.val_fraction: ", val_fraction, " of ", images->size(), " images leaves none for ",
                     training ? "training" : "validation; give another fraction, or 0");
  return std::make_shared<const Subset>(std::move(mine));
}

}  // namespace levin::data
