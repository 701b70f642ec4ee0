#include <levin/data/remote/glob_match.h>

#include <algorithm>

namespace levin::data {
namespace {

/// Compares one byte with the set at the beginning of `pattern`, "[...]", and removes the set.
bool takes_set(std::string_view& pattern, char byte) {
  const bool is_negated = pattern.size() > 1 && (pattern[1] == '!' || pattern[1] == '^');
  const size_t begin = is_negated ? 2 : 1;
  const size_t end = pattern.find(']', begin + 1);  // a bracket at the beginning is one of the set
  if (end == std::string_view::npos) {
    pattern.remove_prefix(1);
    return byte == '[';
  }
  bool is_in = false;
  for (size_t i = begin; i < end; ++i) {
    const bool is_range = i + 2 < end && pattern[i + 1] == '-';
    is_in = is_in || (is_range ? pattern[i] <= byte && byte <= pattern[i + 2] : pattern[i] == byte);
    if (is_range) i += 2;
  }
  pattern.remove_prefix(end + 1);
  return is_in != is_negated && byte != '/';
}

/// Compares one byte with the beginning of `pattern`, which is no star, and removes that.
bool takes_byte(std::string_view& pattern, char byte) {
  if (pattern.front() == '[') return takes_set(pattern, byte);
  const char wanted = pattern.front();
  pattern.remove_prefix(1);
  return wanted == '?' ? byte != '/' : wanted == byte;
}

}  // namespace

size_t glob_begin(std::string_view pattern) { return std::min(pattern.find_first_of("*?["), pattern.size()); }

bool glob_matches(std::string_view pattern, std::string_view text) {
  // The last star of each kind is where the match may be tried again; an earlier one need not be.
  struct Star {
    bool is_set = false;
    std::string_view pattern = {};  // the rest of the pattern, behind the star
    std::string_view text = {};     // the rest of the text, which the star has not matched
  };
  Star star, wide;
  const auto retry = [&] {
    if (star.is_set && !star.text.empty() && star.text.front() != '/') {
      star.text.remove_prefix(1);
      pattern = star.pattern;
      text = star.text;
      return true;
    }
    star.is_set = false;
    if (!wide.is_set || wide.text.empty()) return false;
    wide.text.remove_prefix(1);
    pattern = wide.pattern;
    text = wide.text;
    return true;
  };
  while (true) {
    if (pattern.starts_with("**")) {
      pattern.remove_prefix(2);
      wide = {true, pattern, text};
      star.is_set = false;
    } else if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      star = {true, pattern, text};
    } else if (pattern.empty() ? text.empty() : !text.empty() && takes_byte(pattern, text.front())) {
      if (text.empty()) return true;
      text.remove_prefix(1);
    } else if (!retry()) {
      return false;
    }
  }
}

}  // namespace levin::data
