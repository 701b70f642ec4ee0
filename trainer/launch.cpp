#include <levin/trainer/launch.h>
#include <levin/trainer/fit/launch_ranks.h>
#include <levin/trainer/options/placement.h>

namespace levin {

std::optional<int> launch(const TrainerOptions& options) {
  check_options(options);  // before any process starts
  return launch_ranks(options, choose_placement(options, visible_gpus(), find_launch_environment()));
}

}  // namespace levin
