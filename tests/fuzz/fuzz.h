#pragma once
#include <string>
#include <vector>

namespace levin::testing {

/// Reads `input` as config files (divided by lines of three dashes), merges them, resolves their references and checks
/// them. Only UsageError may come of it, and is caught. Throws std::logic_error where a promise does not hold: a config
/// without problems can be set, and reads the same when it is written and read again.
void fuzz_config(const std::string& input);

/// Reads the lines of `input` as the arguments of a command, by the same rules.
void fuzz_flags(const std::string& input);

/// Inputs to begin with.
const std::vector<std::string>& config_seeds();
const std::vector<std::string>& flag_seeds();

}  // namespace levin::testing
