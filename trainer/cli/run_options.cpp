#include <levin/trainer/cli/run_options.h>
#include <levin/trainer/cli/problems.h>
#include <levin/trainer/cli/reference_text.h>
#include <levin/trainer/core/error.h>

#include <nlohmann/json.hpp>

namespace levin::cli {
namespace {

/// An option of the trainer as the one who wrote it sees it.
std::string as_written(const Config& config, const std::string& option) {
  const std::string path = option == "seed" || option == "name" ? option : "trainer." + option;
  const auto origin = config.origins.find(path);
  if (origin == config.origins.end()) return path;
  const bool names_itself = origin->second.rfind("--", 0) == 0 || origin->second.rfind("LEVIN__", 0) == 0;
  return names_itself ? origin->second : path + " (" + origin->second + ")";
}

}  // namespace

std::vector<std::string> contradictions_of(const Config& config, const TrainerOptions& options) {
  std::vector<std::string> texts;
  for (const Contradiction& found : contradictions(options))
    texts.push_back(as_written(config, found.one) + " and " + as_written(config, found.other) +
                    " contradict each other: " + found.why);
  return texts;
}

RunOptions read_run_options(const Config& config) {
  RunOptions options;
  schema_of<RunOptions>().set(&options, "", config.values);
  if (options.seed) options.trainer.seed = options.seed;
  if (options.name) options.trainer.name = *options.name;
  throw_problems(contradictions_of(config, options.trainer));
  try {
    check_options(options.trainer);
  } catch (const UsageError& error) {
    std::string message = error.what();
    // They stand at the top of a config.
    for (const std::string at_top : {"trainer.seed: ", "trainer.name: "})
      if (message.rfind(at_top, 0) == 0) message.erase(0, std::string("trainer.").size());
    throw UsageError(with_place(config, message));
  }
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

std::string config_text(const RunOptions& options) {
  return with_escaped_references(resolved_config(options)).dump(2) + "\n";
}

}  // namespace levin::cli
