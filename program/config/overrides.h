#pragma once
#include <levin/program/config/config.h>

#include <string>
#include <utility>
#include <vector>

namespace levin::cli {

/// One value from a flag or from the environment, not yet parsed.
struct Override {
  /// The origin, for errors: "--max-epochs", "LEVIN__TRAINER__MAX_EPOCHS".
  std::string source = {};
  /// {"model", "optimizer", "lr"}; a list item by its number: {"trainer", "callbacks", "0", "monitor"}.
  std::vector<std::string> path = {};
  std::string text = {};
  /// The items are appended to the list instead of replacing it.
  bool adds = false;
};

/// Returns the overrides of the environment, sorted by path: LEVIN__MODEL__OPTIMIZER__LR is model.optimizer.lr.
std::vector<Override> environment_overrides();

/// Returns a problem for each pair of variables that set the same option to different values: LEVIN__SEED and
/// LEVIN__TRAINER__SEED, or two spellings.
std::vector<std::string> ambiguous_variables(const std::vector<Override>& environment);

/// Returns the probable overrides in `arguments`, before the flags are known: these depend on the classes that the
/// arguments choose (`--model.class`, `--model.optimizer`, `--callbacks`). Some may name no option.
std::vector<Override> likely_overrides(const std::vector<std::string>& arguments);

/// Writes the values into `config`, which `schema` describes: classes first, list items last. Returns a message for
/// each override that cannot be applied.
std::vector<std::string> apply(const Schema& schema, Config& config, std::vector<Override> overrides);

/// Joins a path: "a.b.c".
std::string dotted(const std::vector<std::string>& path);
std::vector<std::string> split(const std::string& text, const std::string& separator);

}  // namespace levin::cli
