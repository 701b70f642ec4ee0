#include <levin/trainer/cli/run_options.h>
#include <levin/trainer/core/error.h>

#include <nlohmann/json.hpp>

namespace levin::cli {

void lift_seed_and_name(Json& config) {
  if (!config.contains("trainer") || !config["trainer"].is_object()) return;
  Json& trainer = config["trainer"];
  for (const char* key : {"seed", "name"}) {
    if (!trainer.contains(key)) continue;
    if (config.contains(key) && config[key] != trainer[key])
      throw UsageError(key, " and trainer.", key, " contradict each other: ", config[key].dump(), " and ",
                       trainer[key].dump());
    config[key] = trainer[key];
    trainer.erase(key);
  }
}

RunOptions read_run_options(Json config) {
  lift_seed_and_name(config);
  RunOptions options;
  schema_of<RunOptions>().set(&options, "", config);
  if (options.seed) options.trainer.seed = options.seed;
  if (options.name) options.trainer.name = *options.name;
  check_options(options.trainer);
  return options;
}

Json resolved_config(const RunOptions& options) {
  RunOptions resolved = options;
  resolved.trainer = resolve(options.trainer);
  resolved.name = resolved.trainer.name;
  Json config = schema_of<RunOptions>().get(&resolved);
  for (const char* key : {"seed", "name"}) config["trainer"].erase(key);
  for (const char* section : {"model", "data"})
    if (config[section].is_null()) config.erase(section);
  return config;
}

}  // namespace levin::cli
