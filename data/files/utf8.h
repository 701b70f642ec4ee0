#pragma once
#include <string>
#include <string_view>

namespace levin::data {

/// What may stand before a text: U+FEFF.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// The result of next_code_point for invalid UTF-8.
inline constexpr char32_t kInvalidUtf8 = 0xFFFFFFFF;

/// Returns the code point at byte `position` < text.size() and moves `position` after it. Returns kInvalidUtf8 and
/// leaves `position` for invalid UTF-8: truncated, overlong, a surrogate, or above U+10FFFF. Source: RFC 3629.
char32_t next_code_point(std::string_view text, size_t& position);

/// Appends a code point, which is at most U+10FFFF.
void append_utf8(std::string& text, char32_t code_point);

/// Returns the bytes of a character of valid UTF-8, which begins with `first`.
inline size_t bytes_of_character(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// Returns whether a text is valid UTF-8.
bool is_utf8(std::string_view text);

/// Returns whether all bytes are ASCII.
bool is_ascii(std::string_view text);

}  // namespace levin::data
