#pragma once
#include <levin/trainer/cli/config/config.h>

#include <string>

namespace levin::cli {

/// Reads and parses a config file (parse_config). Also throws UsageError for a file that cannot be read.
Config read_config_file(const std::string& path);

}  // namespace levin::cli
