#pragma once
#include <levin/program/config/config.h>

#include <string>

namespace levin::cli {

/// Returns the text of a config file. Throws UsageError for a file that cannot be read.
std::string read_config_text(const std::string& path);

/// Merges a file's config over another (merge); errors have the file's place.
void merge_file(const Schema& schema, Config& config, const Config& file);

/// Reads and parses a config file (parse_config), and the files that its "base" names: a path, or a list of which later
/// ones override earlier ones. The file overrides its bases. Relative paths begin at the file's folder. Moves
/// trainer.seed and trainer.name of each file to the top (lift_seed_and_name). Throws UsageError, with place, for a
/// file that cannot be read and for one that is a base of itself.
Config read_config_file(const Schema& schema, const std::string& path);

/// Moves trainer.seed and trainer.name to the top of the config, where other configs and flags write them. Throws
/// UsageError if both places have different values.
void lift_seed_and_name(Config& config);

}  // namespace levin::cli
