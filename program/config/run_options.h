#pragma once
#include <levin/data/registry.h>
#include <levin/modules/registry.h>
#include <levin/program/config/config.h>
#include <levin/trainer/launch/environment.h>
#include <levin/trainer/options/resolved_options.h>
#include <levin/trainer/run_folder/run_folder.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace levin::cli {

/// The options of a whole config, from files, environment and flags.
struct RunOptions {
  std::optional<int64_t> seed = LEVIN_OPTION(seed, {}, "Seed of all random numbers; unset: not seeded", {.min = 0});
  std::optional<std::string> name =
      LEVIN_OPTION(name, {}, "Name of the runs: their folder under default_root_dir; unset: levin_logs");
  TrainerOptions trainer = LEVIN_OPTION(trainer, {}, "The trainer");
  ClassChoice<ModuleKind> model = LEVIN_OPTION(model, {}, "The module that is trained");
  ClassChoice<data::DataModuleKind> data = LEVIN_OPTION(data, {}, "The data; unset: the module's own loaders");
};

/// The options of a config, as they were given and as a run reads them.
struct ReadOptions : RunOptions {
  ResolvedOptions resolved;  ///< of `trainer`

  /// Resolves `trainer` again, after it was changed.
  void resolve_again();
};

/// Converts a config without problems to options, for ranks that were started, if any. Throws UsageError
/// if options contradict each other; each option is named as it was written: "--gpus", "trainer.devices (a.json:4)".
ReadOptions read_run_options(const Config& config,
                             const std::optional<LaunchEnvironment>& ranks = find_launch_environment());

/// Returns the options of the model as a JSON object; null without a model.
Json options_of_model(const RunOptions& options);
/// Returns the option `weights` of the model; empty if it is not set, or the model has none.
std::string weights_of_model(const RunOptions& options);

/// Returns the config with the value of every option, early spellings resolved.
Json resolved_config(const ReadOptions& options);
/// Returns the resolved config as the text of a config file.
std::string config_text(const ReadOptions& options);
/// Returns the same, but with the references to the environment as written in `config`: for printing and saving.
std::string config_text(const ReadOptions& options, const Config& config);

/// The values of a config that came from the environment and may be secrets. Files get the written text, "${env:NAME}",
/// instead.
class KeptReferences {
 public:
  /// Keeps no references.
  KeptReferences() = default;
  KeptReferences(const Config& config, const ReadOptions& options);

  /// Returns the config that a run of `options` writes to its files. A value that a search has changed since is written
  /// as it is.
  RunConfig config_of_run(const ReadOptions& options, const std::string& hyperparameters) const;

 private:
  Json with_texts(Json json, const std::string& section) const;

  std::map<std::string, std::string> texts_ = {};  ///< by path
  Json values_ = nullptr;                          ///< the whole config, with values
};

}  // namespace levin::cli
