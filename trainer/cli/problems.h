#pragma once
#include <levin/trainer/cli/config.h>

#include <string>
#include <vector>

namespace levin::cli {

/// Everything in a config, whose references are resolved, that the schema refuses: unknown options and classes, values
/// of the wrong type or out of their limits. Each begins with its place: "configs/a.json:12: model.lr: expected ...".
std::vector<std::string> find_problems(const Schema& schema, const Config& config);

/// A message "path: ..." with the place of that value before it, and the reference that the value came from behind.
std::string with_place(const Config& config, const std::string& message);

/// Throws UsageError for them all; for none it does nothing.
void throw_problems(const std::vector<std::string>& problems);

}  // namespace levin::cli
