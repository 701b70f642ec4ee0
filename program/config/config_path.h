#pragma once
#include <levin/core/options/option.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace levin::cli {

/// Returns whether `path` is `outer` or inside it.
bool is_within(const std::string& path, const std::string& outer);

/// Removes the texts of all paths within `outer`.
void erase_within(std::map<std::string, std::string>& texts, const std::string& outer);

/// Returns the number in "[3]"; nullopt for other keys.
std::optional<size_t> index_of(const std::string& key);

/// Throws UsageError if `list` has no such item.
void require_item(const std::string& path, size_t index, const Json& list);

}  // namespace levin::cli
