#pragma once
#include <levin/program/config/overrides.h>

#include <string>
#include <vector>

namespace levin::cli {

/// The parsed flags of a command line.
struct Flags {
  std::string ckpt_path = {};
  bool print_config = false;
  bool allow_python = false;
  std::vector<Override> overrides = {};
  /// What --help shows of these flags, if it was asked for; then nothing else is read.
  std::string help = {};
  /// Unknown flags, with the nearest known one, and flags without a value.
  std::vector<std::string> problems = {};
};

/// Returns the values of `--config FILE...`, which are needed before the other flags are known.
std::vector<std::string> config_files_of(const std::vector<std::string>& arguments);

/// Reads the flags of `levin COMMAND`, whose options `schema` describes. There is one flag for each option of the
/// trainer (`--max-epochs`), of the classes that `config` chooses (`--model.lr`, `--data.root`,
/// `--model.optimizer.lr`), and of the items of lists (`--callbacks.0.monitor`). Repeated flags of a list add up;
/// `--callbacks+=NAME` appends to the list of the files. For any other flag the last one counts.
Flags read_flags(const Schema& schema, const std::string& command, const std::vector<std::string>& arguments,
                 const Json& config);

/// A flag as shells complete it and help shows it.
struct KnownFlag {
  std::string spelling = {};  ///< "--max-epochs"
  std::string help = {};
  std::vector<std::string> values = {};  ///< words that it takes; empty if any value may be right
  bool needs_value = true;
  std::string group = {};        ///< the heading above it in --help
  std::string value = {};        ///< the kind of value there: "INT"
  std::string description = {};  ///< the text there: the help with limits and default
};

/// Describes the flag of an option with that default, without a group; a null default is not shown.
KnownFlag describe_flag(const std::string& spelling, const Field& field, const Json& by_default);

/// Returns the flags that `read_flags` would know for the same arguments, in the order of --help.
std::vector<KnownFlag> known_flags(const Schema& schema, const std::string& command,
                                   const std::vector<std::string>& arguments, const Json& config);

}  // namespace levin::cli
