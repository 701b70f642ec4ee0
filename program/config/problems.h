#pragma once
#include <levin/program/config/config.h>

#include <string>
#include <vector>

namespace levin::cli {

/// Returns everything in a config with resolved references that the schema rejects: unknown options and classes, values
/// of the wrong type or outside their limits. Each message starts with its place: "configs/a.json:12: model.lr:
/// expected ...".
std::vector<std::string> find_problems(const Schema& schema, const Config& config);

/// Adds the place of the value before a message "path: ...", and the reference that the value came from after it.
std::string with_place(const Config& config, const std::string& message);

/// Throws one UsageError with all problems; a no-op without problems.
void throw_problems(const std::vector<std::string>& problems);

}  // namespace levin::cli
