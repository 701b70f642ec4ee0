#include <levin/trainer/launch.h>
#include <levin/trainer/fit/launch_ranks.h>
#include <levin/trainer/options/placement.h>

namespace levin {

std::optional<int> launch(const TrainerOptions& options) {
  const PlacedOptions placed = resolve_and_place_here(options);
  return launch_ranks(placed.options, placed.placement);
}

}  // namespace levin
