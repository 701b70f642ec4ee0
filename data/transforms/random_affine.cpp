#include <levin/data/transforms/random_affine.h>
#include <levin/core/system/error.h>
#include <levin/data/transforms/engine/image_batch.h>
#include <levin/data/transforms/image_target.h>

#include <cmath>
#include <utility>
#include <vector>

namespace levin::data {
namespace {

/// Returns a single number x as the range [-x, x].
std::array<double, 2> both_ways(const OneOrMore<double>& range, const std::string& option) {
  if (range.empty()) throw UsageError(option, ": missing; give a number or [least, greatest]");
  if (range.size() != 1) return low_and_high(range, option);
  if (!(range[0] >= 0)) throw UsageError(option, ": expected at least 0 for a single number, got ", range[0]);
  return {-range[0], range[0]};
}

double draw(Rng& rng, const std::array<double, 2>& range) { return rng.uniform(range[0], range[1]); }

}  // namespace

RandomRotation::RandomRotation(Options options)
    : options_(std::move(options)), degrees_(both_ways(options_.degrees, "RandomRotation.degrees")) {
  schema_of<Options>().check(&options_, "RandomRotation");
}

void RandomRotation::operator()(Batch& batch, std::span<Rng> rngs) const {
  ImageTarget target = image_target_of(batch, rngs, "RandomRotation");
  std::vector<InverseMap> maps;
  maps.reserve(rngs.size());
  for (Rng& rng : rngs) maps.push_back(AffineMap{.angle = -draw(rng, degrees_)}.inverse());
  warp_target(target, maps, options_.interpolation,
              pixel_for_channels(target.images, options_.fill, "RandomRotation.fill"));
  set_image_target(batch, target);
}

RandomAffine::RandomAffine(Options options)
    : options_(std::move(options)), degrees_(both_ways(options_.degrees, "RandomAffine.degrees")) {
  schema_of<Options>().check(&options_, "RandomAffine");
  const size_t moves = options_.translate.size();
  if (moves != 0 && moves != 2) throw UsageError("RandomAffine.translate: expected [x, y], got ", moves, " numbers");
  if (!options_.scale.empty()) scale_ = low_and_high(options_.scale, "RandomAffine.scale");
  const OneOrMore<double>& shear = options_.shear;
  if (shear.size() == 4) {
    shear_x_ = low_and_high({shear[0], shear[1]}, "RandomAffine.shear");
    shear_y_ = low_and_high({shear[2], shear[3]}, "RandomAffine.shear");
  } else if (shear.size() == 1 || shear.size() == 2) {
    shear_x_ = both_ways(shear, "RandomAffine.shear");
  } else if (!shear.empty()) {
    throw UsageError("RandomAffine.shear: expected 1, 2 or 4 numbers, got ", shear.size());
  }
}

void RandomAffine::operator()(Batch& batch, std::span<Rng> rngs) const {
  ImageTarget target = image_target_of(batch, rngs, "RandomAffine");
  const auto height = static_cast<double>(target.height()), width = static_cast<double>(target.width());
  std::vector<InverseMap> maps;
  maps.reserve(rngs.size());
  for (Rng& rng : rngs) {
    AffineMap map = {.angle = draw(rng, degrees_)};
    if (!options_.translate.empty()) {
      const double most_x = options_.translate[0] * width, most_y = options_.translate[1] * height;
      map.move_x = std::nearbyint(rng.uniform(-most_x, most_x));
      map.move_y = std::nearbyint(rng.uniform(-most_y, most_y));
    }
    if (scale_) map.scale = draw(rng, *scale_);
    if (shear_x_) map.shear_x = draw(rng, *shear_x_);
    if (shear_y_) map.shear_y = draw(rng, *shear_y_);
    maps.push_back(map.inverse());
  }
  warp_target(target, maps, options_.interpolation,
              pixel_for_channels(target.images, options_.fill, "RandomAffine.fill"));
  set_image_target(batch, target);
}

}  // namespace levin::data
