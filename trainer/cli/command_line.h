#pragma once
#include <levin/trainer/cli/config.h>
#include <levin/trainer/cli/flags.h>

#include <string>
#include <vector>

namespace levin::cli {

/// What the arguments of a command mean.
struct CommandLine {
  /// Files, environment and flags merged, references resolved.
  Config config = {};
  std::vector<std::string> files = {};
  Flags flags = {};
};

/// Reads `--config FILE... [--FLAG VALUE...]`: files, later ones over earlier ones, then the environment, then flags;
/// then what the references stand for. `schema` is that of a whole config: seed, name, trainer, model and data.
///
/// Throws UsageError with everything that is wrong, each with its place. Where help is asked for, only the flags are
/// read.
CommandLine read_command_line(const Schema& schema, const std::string& command,
                              const std::vector<std::string>& arguments);

/// Moves trainer.seed and trainer.name to the top, where the other configs and the flags write them.
/// Throws UsageError where both places have different values.
void lift_seed_and_name(Config& config);

}  // namespace levin::cli
