#include <levin/program/sweep/halving.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace levin::sweep {

std::vector<std::vector<int64_t>> Halving::entrants(const std::vector<RungValues>& ended) const {
  std::vector<std::vector<int64_t>> entered(rungs_);
  entered[0].resize(static_cast<size_t>(trials_));
  std::iota(entered[0].begin(), entered[0].end(), 0);
  const auto is_before = [&](const auto& a, const auto& b) { return is_better(a.first, b.first, mode_); };
  for (size_t rung = 0; rung + 1 < rungs_; ++rung) {
    std::vector<std::pair<double, int64_t>> ranked;  // best first, equal values in the order of entry
    std::set<int64_t> promoted;
    int64_t count = 0;
    for (const int64_t trial : entered[rung]) {
      const auto found = ended[rung].find(trial);
      if (found == ended[rung].end()) break;
      ++count;
      if (found->second) {
        const std::pair<double, int64_t> one(*found->second, trial);
        ranked.insert(std::upper_bound(ranked.begin(), ranked.end(), one, is_before), one);
      }
      const auto best = std::min<size_t>(static_cast<size_t>(count / reduction_factor_), ranked.size());
      for (size_t i = 0; i < best; ++i)
        if (promoted.insert(ranked[i].second).second) entered[rung + 1].push_back(ranked[i].second);
    }
  }
  return entered;
}

std::vector<int64_t> rung_epochs(int64_t grace_epochs, int64_t max_epochs, int64_t reduction_factor) {
  std::vector<int64_t> epochs;
  for (int64_t at = grace_epochs; at < max_epochs; at *= reduction_factor) epochs.push_back(at);
  epochs.push_back(max_epochs);
  return epochs;
}

}  // namespace levin::sweep
