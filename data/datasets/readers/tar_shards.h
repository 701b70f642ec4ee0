#pragma once
#include <string>
#include <vector>

namespace levin::data {

/// The names that a pattern with braces stands for: `{000..009}` counts, with the width of the first number where that
/// begins with 0, and `{train,val}` lists. Several braces give all combinations, the last running fastest; they do not
/// nest. Throws levin::UsageError for braces that do neither, and for more than 1,000,000 names.
std::vector<std::string> expand_braces(const std::string& pattern);

/// The files that the patterns name, in their order: braces, then `*`, `?` and `[...]` as in a shell, sorted by name.
/// Throws levin::UsageError, which begins with `option`, for a pattern or a name without a file and for a file that
/// comes twice.
std::vector<std::string> find_shards(const std::vector<std::string>& patterns, const std::string& option);

}  // namespace levin::data
