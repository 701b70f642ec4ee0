#pragma once
#include <string>

namespace levin::cli {

/// The heading of --help under which an option of the trainer stands; empty where it has no effect on `command`.
std::string group_of_option(const std::string& option, const std::string& command);

}  // namespace levin::cli
