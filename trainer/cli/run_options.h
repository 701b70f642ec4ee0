#pragma once
#include <levin/data/registry.h>
#include <levin/modules/registry.h>
#include <levin/trainer/cli/config.h>
#include <levin/trainer/options.h>
#include <levin/trainer/run_folder.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

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

/// Reads a config whose problems are reported already, and reports what its options as a whole contradict.
/// Throws UsageError.
RunOptions read_run_options(const Config& config);

/// What contradicts each other in `options`, each option named as it was written: "--gpus", "trainer.devices
/// (a.json:4)".
std::vector<std::string> contradictions_of(const Config& config, const TrainerOptions& options);

/// The config with every option at the value that it has, early spellings resolved.
Json resolved_config(const RunOptions& options);
/// The same as the text of a config file.
std::string config_text(const RunOptions& options);
/// The same with the references to the environment as they were written in `config`: what is printed and kept.
std::string config_text(const RunOptions& options, const Config& config);

/// Values of a config that came from the environment, perhaps secrets, in whose place files have the text that was
/// written: "${env:NAME}".
class KeptReferences {
 public:
  /// None.
  KeptReferences() = default;
  KeptReferences(const Config& config, const RunOptions& options);

  /// What a run of `options` keeps as its config. A value that has changed since, by a search, stays as it is.
  RunConfig config_of_run(const RunOptions& options, const std::string& hyperparameters) const;

 private:
  Json with_texts(Json json, const std::string& section) const;

  std::map<std::string, std::string> texts_ = {};  ///< by path
  Json values_ = nullptr;                          ///< the whole config, with the values
};

}  // namespace levin::cli
