#include <levin/modules/metrics/bleu_score.h>
#include <levin/data/datasets/readers/python_strip.h>
#include <levin/modules/metrics/engine/n_grams.h>

#include <cmath>

namespace levin::metrics {
namespace {

// Counts: the words of the texts, those of their targets, then for each length the sequences found and all sequences.
constexpr size_t kTextWords = 0, kTargetWords = 1, kFirst = 2;

size_t checked_length(const BLEUScoreOptions& options) {
  schema_of<BLEUScoreOptions>().check(&options, "BLEUScore");
  return static_cast<size_t>(options.n_gram);
}

size_t distance(size_t a, size_t b) { return a > b ? a - b : b - a; }

}  // namespace

BLEUScore::BLEUScore(Options options)
    : Cloneable("BLEUScore", kFirst + 2 * checked_length(options)),
      n_gram_(checked_length(options)),
      smooth_(options.smooth) {}

void BLEUScore::add(const TextPair& texts, std::vector<double>& counts) const {
  const std::vector<std::string_view> pred = data::python_split(texts.pred);
  std::vector<std::vector<std::string_view>> targets;
  for (const std::string& target : texts.targets) targets.push_back(data::python_split(target));
  size_t nearest = targets[0].size();
  for (const auto& target : targets)
    if (distance(target.size(), pred.size()) < distance(nearest, pred.size())) nearest = target.size();
  counts[kTextWords] += static_cast<double>(pred.size());
  counts[kTargetWords] += static_cast<double>(nearest);
  for (size_t length = 1; length <= n_gram_; ++length) {
    NGrams allowed;
    for (const auto& target : targets)
      for (const auto& [words, count] : n_grams(target, length)) allowed[words] = std::max(allowed[words], count);
    const NGrams given = n_grams(pred, length);
    counts[kFirst + 2 * (length - 1)] += static_cast<double>(shared(given, allowed));
    if (pred.size() >= length) counts[kFirst + 2 * length - 1] += static_cast<double>(pred.size() - length + 1);
  }
}

double BLEUScore::value(const std::vector<double>& counts) const {
  double log_precision = 0;
  for (size_t length = 1; length <= n_gram_; ++length) {
    const double found = counts[kFirst + 2 * (length - 1)], all = counts[kFirst + 2 * length - 1];
    if (found == 0) return 0;
    const double added = smooth_ && length > 1 ? 1 : 0;
    log_precision += std::log((found + added) / (all + added)) / static_cast<double>(n_gram_);
  }
  const double words = counts[kTextWords], wanted = counts[kTargetWords];
  return std::exp(log_precision + (words > wanted ? 0 : 1 - wanted / words));
}

}  // namespace levin::metrics
