#pragma once
#include <string>
#include <vector>

namespace levin::data {

/// Expands the braces of a pattern to names: `{000..009}` is a range, padded to the width of the first number if that
/// starts with 0, and `{train,val}` is a list. Several braces give all combinations, the last varying fastest; braces
/// do not nest. Throws levin::UsageError for other braces, and for more than 1,000,000 names.
std::vector<std::string> expand_braces(const std::string& pattern);

/// Returns the files that match the patterns, in the order of the patterns: braces are expanded, then `*`, `?` and
/// `[...]` as in a shell, sorted by name. Throws levin::UsageError, which starts with `option`, for a pattern or a name
/// without a file and for a file that occurs twice.
std::vector<std::string> find_shards(const std::vector<std::string>& patterns, const std::string& option);

}  // namespace levin::data
