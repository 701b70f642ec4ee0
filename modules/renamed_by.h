#pragma once
#include <map>
#include <string>

namespace levin {

/// Returns what a name becomes by patterns of old names and new ones, {{"bert.*", "encoder.*"}}; the name itself if
/// none fits. A `*` stands for any characters, and in the new name for what the next `*` of the old one stood for. Of
/// several patterns that fit, that with the most other characters counts, then the first in the order of their bytes.
std::string renamed_by(const std::map<std::string, std::string>& patterns, const std::string& name);

/// Throws levin::UsageError for a pattern whose new name has more `*` than the old one.
void check_renaming(const std::map<std::string, std::string>& patterns);

}  // namespace levin
