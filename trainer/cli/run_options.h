#pragma once
#include <levin/data/registry.h>
#include <levin/modules/registry.h>
#include <levin/trainer/options.h>

#include <cstdint>
#include <optional>
#include <string>

namespace levin::cli {

/// A whole config: what the sections of the JSON and the flags mean.
struct RunOptions {
  std::optional<int64_t> seed = LEVIN_OPTION(seed, {}, "Seed of all random numbers; unset: not seeded", {.min = 0});
  std::optional<std::string> name =
      LEVIN_OPTION(name, {}, "Name of the runs: their folder under default_root_dir; unset: levin_logs");
  TrainerOptions trainer = LEVIN_OPTION(trainer, {}, "The trainer");
  Part<ModuleKind> model = LEVIN_OPTION(model, {}, "The module that is trained");
  Part<data::DataModuleKind> data = LEVIN_OPTION(data, {}, "The data; unset: the module's own loaders");
};

/// Reads a merged config; `seed` and `name` at the top are the trainer's. Throws UsageError.
RunOptions read_run_options(Json config);

/// The config with every option at the value that it has, early spellings resolved; it can be run again.
Json resolved_config(const RunOptions& options);

/// Moves trainer.seed and trainer.name to the top, where the other configs and the flags write them.
/// Throws UsageError where both places have different values.
void lift_seed_and_name(Json& config);

}  // namespace levin::cli
