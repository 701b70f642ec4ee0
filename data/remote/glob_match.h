#pragma once
#include <string_view>

namespace levin::data {

/// Returns whether `text` is of the pattern: `?` is one byte and `*` any bytes, neither of them a slash, `**` any
/// bytes,
/// `[a-z]` and `[!a-z]` one byte of some, and all else itself.
bool glob_matches(std::string_view pattern, std::string_view text);

/// Returns where the first of `*?[` is; the pattern's length if there is none.
size_t glob_begin(std::string_view pattern);

}  // namespace levin::data
