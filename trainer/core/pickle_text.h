#pragma once
#include <string>
#include <string_view>

namespace levin {

/// Text as a pickle holds it: UTF-8, where a byte that is no UTF-8 (in a file name, say) becomes the lone surrogate
/// U+DC00 + byte, as Python's `surrogateescape` does.
std::string to_pickle_text(std::string_view text);

/// The inverse of `to_pickle_text`.
std::string from_pickle_text(std::string_view text);

}  // namespace levin
