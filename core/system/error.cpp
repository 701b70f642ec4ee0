#include <levin/core/system/error.h>
#include <c10/util/Exception.h>
#include <levin/core/system/url_credentials.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace levin {
namespace {

/// Returns the Damerau-Levenshtein distance, computed row by row: a swap of two neighbours is one slip.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string message_of(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  return without_credentials(of_torch != nullptr ? of_torch->what_without_backtrace() : error.what());
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string* nearest = nullptr;
  size_t best = std::max<size_t>(2, word.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = &candidate;
    }
  }
  return nearest ? " (did you mean " + *nearest + "?)" : "";
}

}  // namespace levin
