#pragma once
#include <string>
#include <vector>

namespace levin::data {

/// Expands the braces of a pattern to names: `{000..009}` is a range, padded to the width of the first number if that
/// starts with 0, and `{train,val}` is a list. Several braces give all combinations, the last varying fastest; braces
/// do not nest. Throws levin::UsageError for other braces, and for more than 1,000,000 names.
std::vector<std::string> expand_braces(const std::string& pattern);

/// Returns the files that match the patterns, in the order of the patterns: braces are expanded, then `*`, `?` and
/// `[...]` as in a shell, sorted by name. Those at URLs are fetched to the cache folder (local_path). Throws
/// levin::UsageError, which starts with `option`, for a pattern or a name without a file and for a file that occurs
/// twice.
std::vector<std::string> find_shards(const std::vector<std::string>& patterns, const std::string& option);

/// The same for shards of a stream, which may also lie at URLs: braces in them are expanded, and `*` and `[...]` in the
/// path list a bucket. A local file or a URL that ends with .txt or .json is an index, which stands for the shards that
/// it names; see names_in_index. A URL that names one shard is not asked for before it is read.
std::vector<std::string> find_tar_shards(const std::vector<std::string>& patterns, const std::string& option);

}  // namespace levin::data
