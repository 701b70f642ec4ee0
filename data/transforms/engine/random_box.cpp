#include <levin/data/transforms/engine/random_box.h>

#include <cmath>
#include <utility>

namespace levin::data {

std::optional<Box> random_box(Rng& rng, int64_t height, int64_t width, const BoxShape& shape) {
  constexpr int kTries = 10;
  const auto area = static_cast<double>(height * width);
  const int64_t most = shape.whole_sides ? 0 : 1;
  for (int i = 0; i < kTries; ++i) {
    const double box_area = area * rng.uniform(shape.scale[0], shape.scale[1]);
    const double ratio = std::exp(rng.uniform(std::log(shape.ratio[0]), std::log(shape.ratio[1])));
    int64_t box_width = std::llround(std::sqrt(box_area * ratio));
    int64_t box_height = std::llround(std::sqrt(box_area / ratio));
    if (!shape.width_over_height) std::swap(box_width, box_height);
    if (box_width < 1 || box_height < 1 || box_width > width - most || box_height > height - most) continue;
    const int64_t top = rng.randint(0, height - box_height + 1);
    return Box{top, rng.randint(0, width - box_width + 1), box_height, box_width};
  }
  return {};
}

}  // namespace levin::data
