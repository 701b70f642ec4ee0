#include <levin/trainer/options/trainer_options.h>
#include <levin/core/device/gpu_discovery.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin {

TrainerOptions TrainerOptions::embedded() {
  TrainerOptions options;
  options.logger = false;
  options.enable_checkpointing = options.enable_progress_bar = options.enable_model_summary = false;
  options.quiet = true;
  options.print_warnings = false;
  options.launcher = Launcher::None;
  options.handle_signals = false;
  options.on_sigusr1 = options.on_sigusr2 = OnSignal::Ignore;
  options.keep_freed_memory = false;
  options.keep_torch_settings = true;
  options.random_generator = GeneratorChoice::Own;
  return options;
}

std::optional<std::string> asked_strategy(const TrainerOptions& given) {
  if (given.distributed_backend) return given.distributed_backend->word();
  if (!given.strategy || given.strategy.class_name() == kAutoStrategy) return {};
  return given.strategy.class_name();
}

StrategyChoice choose_strategy(const TrainerOptions& given) {
  if (const std::optional<std::string> asked = asked_strategy(given))
    return strategy_named(*asked, given.distributed_backend ? "as distributed_backend says" : "as asked for");
  const int64_t nodes = std::max(given.num_nodes, given.nb_gpu_nodes.value_or(1));
  if (nodes > 1) return strategy_named("ddp", c10::str(nodes, " machines"));
  const int gpus = given.gpus.count(/*all=*/visible_gpus().count);
  if (given.gpus.is_set() && gpus > 1) return strategy_named("dp", c10::str(gpus, " gpus on one machine"));
  const int devices =
      given.devices.count(given.accelerator == Accelerator::Cpu ? 1 : std::max(1, visible_gpus().count));
  if (devices > 1) return strategy_named("ddp", c10::str(devices, " devices"));
  return strategy_named("single_device", "one device");
}

void check_options(const TrainerOptions& options) {
  schema_of<TrainerOptions>().check(&options, "trainer");
  if (const std::vector<std::string> found = refusals(options); !found.empty()) throw UsageError(found.front());
}

}  // namespace levin
