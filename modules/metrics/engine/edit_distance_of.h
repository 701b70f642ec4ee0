#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace levin::metrics {

/// Returns the least cost of insertions and deletions, 1 each, and substitutions that turn `a` into `b`: O(a b) time,
/// O(b) memory. Source: Wagner and Fischer (1974).
template <class Item>
int64_t edit_distance_of(const std::vector<Item>& a, const std::vector<Item>& b, int64_t substitution_cost = 1) {
  std::vector<int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), int64_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i) + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const int64_t substituted = diagonal + (a[i] == b[j] ? 0 : substitution_cost);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace levin::metrics
