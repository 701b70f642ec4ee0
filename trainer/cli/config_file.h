#pragma once
#include <levin/trainer/cli/config.h>

#include <string>

namespace levin::cli {

/// Reads a config file, as parse_config does its text. Throws UsageError also for a file that cannot be read.
Config read_config_file(const std::string& path);

}  // namespace levin::cli
