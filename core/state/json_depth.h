#pragma once
#include <cstddef>
#include <string_view>

namespace levin {

/// Returns whether the lists and objects of a JSON text are nested more than `most` deep; the text may be invalid. Ask
/// it before a text from outside is parsed: nlohmann's json copies and writes values recursively, which would overflow
/// the stack.
bool is_nested_deeper(std::string_view json, size_t most = 500);

}  // namespace levin
