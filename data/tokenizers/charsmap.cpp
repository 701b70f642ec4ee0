#include <levin/data/tokenizers/charsmap.h>
#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>

#include <algorithm>

namespace levin::data::tokenizers {
namespace {

constexpr size_t kMostReplacement = 1000;

uint32_t little_endian(std::string_view bytes, size_t position) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[position + i]);
  return value;
}

// The parts of a unit of the double array.
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t value_of_leaf(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t label_of(uint32_t unit) { return unit & 0x800000FF; }
uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }

}  // namespace

Charsmap::Charsmap(std::string_view bytes, const std::string& place) {
  const auto fail = [&](const char* what) { throw UsageError(place, ": the map of characters is broken: ", what); };
  if (bytes.size() < 4) fail("it ends too early");
  const size_t trie_bytes = little_endian(bytes, 0);
  if (trie_bytes % 4 != 0 || trie_bytes < 4 || trie_bytes > bytes.size() - 4) fail("its trie has no such size");
  for (size_t position = 4; position < 4 + trie_bytes; position += 4) units_.push_back(little_endian(bytes, position));
  texts_ = bytes.substr(4 + trie_bytes);
  if (!is_utf8(texts_)) fail("its texts are not UTF-8");
}

/// Calls `found` with the bytes of each beginning of a text that has an entry, and the place of its replacement, until
/// it returns false.
template <class Found>
void Charsmap::follow(std::string_view text, const Found& found) const {
  uint32_t node = offset_of(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const uint32_t label = static_cast<unsigned char>(text[i]);
    if (label == 0) return;
    node ^= label;
    if (node >= units_.size() || label_of(units_[node]) != label) return;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (!found(i + 1, node < units_.size() ? value_of_leaf(units_[node]) : 0)) return;
  }
}

std::optional<std::string_view> Charsmap::text_at(uint32_t begin) const {
  if (begin >= texts_.size() || (static_cast<unsigned char>(texts_[begin]) & 0xC0) == 0x80) return std::nullopt;
  const std::string_view rest = std::string_view(texts_).substr(begin, kMostReplacement + 1);
  const size_t end = std::min(rest.find('\0'), rest.size());
  if (end > kMostReplacement) {
    throw UsageError("Tokenizer: a map of characters replaces one by more than ", kMostReplacement, " bytes");
  }
  return rest.substr(0, end);
}

std::optional<std::string_view> Charsmap::replacement(std::string_view text) const {
  std::optional<std::string_view> shortest;
  follow(text, [&](size_t, uint32_t begin) {
    shortest = text_at(begin);
    return false;
  });
  return shortest;
}

std::optional<Charsmap::Rule> Charsmap::longest(std::string_view text) const {
  std::optional<Rule> longest;
  follow(text, [&](size_t bytes, uint32_t begin) {
    if (const auto found = text_at(begin)) longest = Rule{*found, bytes};
    return true;
  });
  return longest;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, text.size() - padding)) {
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

}  // namespace levin::data::tokenizers
