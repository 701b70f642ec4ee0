#pragma once
#include <string>
#include <string_view>

namespace levin::data {

/// What next_code_point gives where the bytes are no UTF-8.
inline constexpr char32_t kInvalidUtf8 = 0xFFFFFFFF;

/// The code point at byte `position` < text.size(), which moves behind it; kInvalidUtf8, and `position` stays, for
/// bytes that are no UTF-8: cut off, longer than needed, surrogates, above U+10FFFF. Source: RFC 3629.
char32_t next_code_point(std::string_view text, size_t& position);

/// Appends a code point, at most U+10FFFF.
void append_utf8(std::string& text, char32_t code_point);

/// Whether all bytes are ASCII.
bool is_ascii(std::string_view text);

}  // namespace levin::data
