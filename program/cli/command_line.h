#pragma once
#include <levin/program/cli/flags.h>
#include <levin/program/config/config.h>

#include <string>
#include <vector>

namespace levin::cli {

/// The parsed arguments of a command.
struct CommandLine {
  /// Files, environment and flags merged, references resolved.
  Config config = {};
  std::vector<std::string> files = {};
  Flags flags = {};
};

/// Reads `--config FILE... [--FLAG VALUE...]`. Later files override earlier ones, the environment overrides files, and
/// flags override both; then references are resolved. `schema` describes a whole config: seed, name, trainer, model and
/// data.
///
/// Throws UsageError with all problems, each with its place; also if a file names a PythonDataset and the command runs
/// it, unless that is allowed (python_is_allowed). If help is asked for, only the flags are read.
CommandLine read_command_line(const Schema& schema, const std::string& command,
                              const std::vector<std::string>& arguments);

/// Returns the files of `--config`, merged. Throws UsageError with all problems of files that cannot be read.
Config read_config_files(const Schema& schema, const std::vector<std::string>& files);

}  // namespace levin::cli
