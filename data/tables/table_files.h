#pragma once
#include <string>
#include <vector>

namespace levin::data {

/// Returns the files that names, patterns and folders stand for: of a folder, also one of a bucket, those with one
/// of the endings, by name.
/// Throws levin::UsageError that names `option` if there are none, and as find_shards.
std::vector<std::string> find_table_files(const std::vector<std::string>& patterns,
                                          const std::vector<std::string>& endings, const std::string& option);

}  // namespace levin::data
