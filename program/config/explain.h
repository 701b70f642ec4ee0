#pragma once
#include <levin/program/config/config.h>

#include <functional>
#include <string>

namespace levin::cli {

/// Returns one line per value of `resolved`: path, value, and the result of `origin_of` for the path.
std::string explain(const Json& resolved, const std::function<std::string(const std::string& path)>& origin_of);

/// Returns the origin of a value, followed by the reference if it was one; "default" if it was not written.
std::string written_origin(const Config& config, const std::string& path);

}  // namespace levin::cli
