#pragma once
#include <levin/trainer/cli/overrides.h>

#include <string>
#include <vector>

namespace levin::cli {

/// What a command line says, besides the command.
struct Flags {
  std::string ckpt_path = {};
  std::string output = {};  ///< of predict: the file for what is predicted
  bool print_config = false;
  bool dry_run = false;
  std::vector<double> bandwidths = {};  ///< of --bandwidth, in Gbit/s
  std::vector<Override> overrides = {};
  /// The text of --help, where it was asked for; nothing else is read then.
  std::string help = {};
  /// Flags that are none, with the nearest, and flags without a value.
  std::vector<std::string> problems = {};
};

/// The values of `--config FILE...`, which are needed before the other flags are known.
std::vector<std::string> config_files_of(const std::vector<std::string>& arguments);

/// Reads the flags of `levin COMMAND`, whose options `schema` describes. There is one for each option of the trainer
/// (`--max-epochs`), of the classes that `config` chooses (`--model.lr`, `--data.root`, `--model.optimizer.lr`), and of
/// the items of its lists (`--callbacks.0.monitor`). If a flag of a list is repeated, its values add
/// up; `--callbacks+=NAME` adds to what files say. Of any other flag the last counts.
Flags read_flags(const Schema& schema, const std::string& command, const std::vector<std::string>& arguments,
                 const Json& config);

}  // namespace levin::cli
