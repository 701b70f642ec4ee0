#pragma once
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace levin::data {

/// Returns the columns that a text of the option `fields` names: one, several with commas between, or those that fit a
/// pattern and are not `taken`. `column` finds one by its name, and throws if there is none. Throws levin::UsageError
/// for a pattern that no column fits.
std::vector<size_t> matching_columns(const std::vector<std::string>& names, const std::string& field,
                                     const std::string& text, const std::function<size_t(const std::string&)>& column,
                                     const std::set<size_t>& taken = {});

/// Returns whether a name is a pattern for several: it has `*`, `?` or `[`.
bool is_name_pattern(const std::string& name);

/// Returns the texts between commas, without the spaces around them.
std::vector<std::string> divided_at_commas(const std::string& text);

}  // namespace levin::data
