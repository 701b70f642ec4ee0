#include <levin/data/files/utf8.h>

#include <cstdint>

namespace levin::data {

char32_t next_code_point(std::string_view text, size_t& position) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(position);
  if (first < 0x80) {
    ++position;
    return first;
  }
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - position < length) return kInvalidUtf8;
  char32_t code = first & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    const uint32_t next = byte(position + i);
    if ((next & 0xC0) != 0x80) return kInvalidUtf8;
    code = code << 6 | (next & 0x3F);
  }
  const char32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return kInvalidUtf8;
  position += length;
  return code;
}

void append_utf8(std::string& text, char32_t code) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

bool is_utf8(std::string_view text) {
  for (size_t position = 0; position < text.size();) {
    if (next_code_point(text, position) == kInvalidUtf8) return false;
  }
  return true;
}

bool is_ascii(std::string_view text) {
  constexpr size_t kBlock = 1 << 12;
  for (size_t begin = 0; begin < text.size(); begin += kBlock) {
    unsigned char any = 0;
    for (const char c : text.substr(begin, kBlock)) any |= static_cast<unsigned char>(c);
    if (any & 0x80) return false;
  }
  return true;
}

}  // namespace levin::data
