#pragma once
#include <string>

namespace levin::cli {

/// Returns the heading of --help for an option of the trainer; empty if the option has no effect on `command`.
std::string group_of_option(const std::string& option, const std::string& command);

}  // namespace levin::cli
