#include <levin/core/state/format/pickle_text.h>

#include <cstddef>
#include <cstdint>

namespace levin {
namespace {

constexpr char kSurrogateLead = '\xed';  // first of the three bytes of U+D000 to U+DFFF

bool is_continuation(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80;
}

/// Returns the bytes of the UTF-8 character at `at`; 0 if it is invalid (overlong forms and surrogates are).
size_t character_length(std::string_view text, size_t at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  for (size_t i = 1; i < length; ++i)
    if (!is_continuation(text, at + i)) return 0;
  const auto second = static_cast<uint8_t>(text[at + 1]);
  const bool is_invalid = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                          (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return is_invalid ? 0 : length;
}

}  // namespace

std::string to_pickle_text(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = character_length(text, i);
    if (length > 0) {
      escaped.append(text.substr(i, length));
      i += length;
      continue;
    }
    const auto byte = static_cast<uint8_t>(text[i++]);
    escaped += kSurrogateLead;
    escaped += static_cast<char>(0xb0 | byte >> 6);
    escaped += static_cast<char>(0x80 | (byte & 0x3f));
  }
  return escaped;
}

std::string from_pickle_text(std::string_view text) {
  std::string unescaped;
  unescaped.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == kSurrogateLead && is_continuation(text, i + 1) && is_continuation(text, i + 2) &&
                           (static_cast<uint8_t>(text[i + 1]) & 0xfe) == 0xb2;
    if (is_escape) {
      unescaped += static_cast<char>((text[i + 1] & 0x03) << 6 | (text[i + 2] & 0x3f));
      i += 2;
    } else {
      unescaped += text[i];
    }
  }
  return unescaped;
}

}  // namespace levin
