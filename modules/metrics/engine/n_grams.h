#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace levin::metrics {

/// How often each sequence of words occurs.
using NGrams = std::map<std::vector<std::string_view>, int64_t>;

/// Counts the sequences of `length` words.
inline NGrams n_grams(const std::vector<std::string_view>& words, size_t length) {
  NGrams counts;
  for (size_t first = 0; first + length <= words.size(); ++first) {
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(first);
    ++counts[{begin, begin + static_cast<std::ptrdiff_t>(length)}];
  }
  return counts;
}

/// Returns how many sequences `a` and `b` share, each as often as the rarer of its two counts.
inline int64_t shared(const NGrams& a, const NGrams& b) {
  int64_t sum = 0;
  for (const auto& [words, count] : a)
    if (const auto found = b.find(words); found != b.end()) sum += std::min(count, found->second);
  return sum;
}

}  // namespace levin::metrics
