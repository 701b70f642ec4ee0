#pragma once
#include <levin/trainer/cli/config.h>

#include <string>
#include <utility>
#include <vector>

namespace levin::cli {

/// One value from a flag or from the environment, not yet read.
struct Override {
  /// Where it came from, for errors: "--max-epochs", "LEVIN__TRAINER__MAX_EPOCHS".
  std::string source = {};
  /// {"model", "optimizer", "lr"}; an item of a list by its number: {"trainer", "callbacks", "0", "monitor"}.
  std::vector<std::string> path = {};
  std::string text = {};
  /// Whether a list keeps what it has and gets these items too.
  bool adds = false;
};

/// Those of the environment, by their paths: LEVIN__MODEL__OPTIMIZER__LR is model.optimizer.lr.
std::vector<Override> environment_overrides();

/// What is wrong with variables that set the same value: LEVIN__SEED and LEVIN__TRAINER__SEED, or two spellings.
std::vector<std::string> ambiguous_variables(const std::vector<Override>& environment);

/// What `arguments` look like before it is known which flags there are, which depends on the classes that they choose
/// (`--model.class`, `--model.optimizer`, `--callbacks`). Some may name no option.
std::vector<Override> likely_overrides(const std::vector<std::string>& arguments);

/// Writes the values into `config`, which `schema` describes; classes first, and items of lists last. Returns a
/// message for each path that leads to no option.
std::vector<std::string> apply(const Schema& schema, Config& config, std::vector<Override> overrides);

/// "a.b.c"
std::string dotted(const std::vector<std::string>& path);
std::vector<std::string> split(const std::string& text, const std::string& separator);

}  // namespace levin::cli
