#include <levin/trainer/options/trainer_options.h>
#include <levin/trainer/strategies/strategy_choice.h>

#include <algorithm>

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

int64_t asked_nodes(const TrainerOptions& given) { return std::max(given.num_nodes, given.nb_gpu_nodes.value_or(1)); }

}  // namespace levin
