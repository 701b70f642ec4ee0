#pragma once
#include <string>
#include <string_view>

namespace levin {

/// Converts text to its form in a pickle: UTF-8, where a byte that is not UTF-8 (in a file name, for example) becomes
/// the lone surrogate U+DC00 + byte, as with Python's `surrogateescape`.
std::string to_pickle_text(std::string_view text);

/// Returns the inverse of `to_pickle_text`.
std::string from_pickle_text(std::string_view text);

}  // namespace levin
