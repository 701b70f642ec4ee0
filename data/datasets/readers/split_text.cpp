#include <levin/data/datasets/readers/split_text.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace levin::data {
namespace {

/// Bytes on each side of a place that are looked at, and the number of places that are tried.
constexpr size_t kLookedAround = 512;
constexpr int kMostTries = 64;

bool continues_character(char byte) { return (byte & 0xc0) == 0x80; }
bool is_ascii_space(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

std::vector<int32_t> tokens_of(std::string_view text, const Tokenizer& tokenizer) {
  return tokenizer.encode(text, {.add_special_tokens = false, .with_offsets = false, .truncate = false}).ids;
}

/// Returns whether the text around `place` has the same tokens if it is divided there.
bool may_split(std::string_view text, size_t place, const Tokenizer& tokenizer) {
  size_t begin = place - std::min(place, kLookedAround), end = std::min(text.size(), place + kLookedAround);
  while (begin < place && continues_character(text[begin])) ++begin;
  while (end > place && end < text.size() && continues_character(text[end])) --end;
  try {
    const std::vector<int32_t> whole = tokens_of(text.substr(begin, end - begin), tokenizer);
    std::vector<int32_t> divided = tokens_of(text.substr(begin, place - begin), tokenizer);
    const std::vector<int32_t> behind = tokens_of(text.substr(place, end - place), tokenizer);
    divided.insert(divided.end(), behind.begin(), behind.end());
    return whole == divided;
  } catch (const UsageError&) {
    return false;  // who encodes the text says what is wrong with it
  }
}

std::optional<size_t> find_split(std::string_view text, size_t from, const Tokenizer& tokenizer) {
  for (int i = 0; i < kMostTries; ++i) {
    const size_t line_break = text.find('\n', from);
    if (line_break == text.npos || line_break + 1 >= text.size()) return {};
    from = line_break + 1;
    if (line_break > 0 && !is_ascii_space(text[line_break - 1]) && !is_ascii_space(text[from]) &&
        may_split(text, from, tokenizer))
      return from;
  }
  return {};
}

}  // namespace

std::vector<size_t> split_text(std::string_view text, size_t piece_bytes, const Tokenizer& tokenizer) {
  std::vector<size_t> ends;
  size_t begin = 0;
  while (text.size() - begin > piece_bytes) {
    const std::optional<size_t> end = find_split(text, begin + piece_bytes, tokenizer);
    if (!end) break;
    ends.push_back(begin = *end);
  }
  ends.push_back(text.size());
  return ends;
}

}  // namespace levin::data
