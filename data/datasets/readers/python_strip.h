#pragma once
#include <string_view>
#include <vector>

namespace levin::data {

/// Returns a UTF-8 text without the white space at both ends, as Python's str.strip().
std::string_view python_strip(std::string_view text);

/// Returns the parts of a UTF-8 text between white space, as Python's str.split().
std::vector<std::string_view> python_split(std::string_view text);

/// Returns a text without the characters `c` at both ends; at its beginning alone; at its end alone.
std::string_view strip_all(std::string_view text, char c);
std::string_view strip_begin(std::string_view text, char c);
std::string_view strip_end(std::string_view text, char c);

}  // namespace levin::data
