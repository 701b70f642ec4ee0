#include <levin/data/datasets/readers/python_strip.h>
#include <levin/data/files/utf8.h>

namespace levin::data {
namespace {

/// Returns whether str.isspace() of Python is true for a character.
bool is_python_space(char32_t code) {
  if (code <= 0x20) return (code >= 0x09 && code <= 0x0d) || code >= 0x1c;
  if (code < 0x2000) return code == 0x85 || code == 0xa0 || code == 0x1680;
  return code <= 0x200a || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

}  // namespace

std::string_view python_strip(std::string_view text) {
  size_t begin = 0, end = 0;
  bool found = false;
  for (size_t position = 0; position < text.size();) {
    const size_t at = position;
    const char32_t code = next_code_point(text, position);
    if (code == kInvalidUtf8) ++position;
    if (is_python_space(code)) continue;
    if (!found) begin = at;
    found = true;
    end = position;
  }
  return text.substr(begin, end - begin);
}

std::vector<std::string_view> python_split(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t position = 0; position < text.size();) {
    const size_t at = position;
    const char32_t code = next_code_point(text, position);
    if (code == kInvalidUtf8) ++position;
    if (!is_python_space(code)) continue;
    if (at > begin) parts.push_back(text.substr(begin, at - begin));
    begin = position;
  }
  if (begin < text.size()) parts.push_back(text.substr(begin));
  return parts;
}

std::string_view strip_begin(std::string_view text, char c) {
  while (text.starts_with(c)) text.remove_prefix(1);
  return text;
}

std::string_view strip_end(std::string_view text, char c) {
  while (text.ends_with(c)) text.remove_suffix(1);
  return text;
}

std::string_view strip_all(std::string_view text, char c) { return strip_begin(strip_end(text, c), c); }

}  // namespace levin::data
