#pragma once
#include <levin/trainer/cli/config.h>

#include <functional>
#include <string>

namespace levin::cli {

/// One line for each value of `resolved`: path, value, and what `origin_of` says about the value at a path.
std::string explain(const Json& resolved, const std::function<std::string(const std::string& path)>& origin_of);

/// Where a value was written, and as which reference; "default" where it was not.
std::string written_origin(const Config& config, const std::string& path);

}  // namespace levin::cli
