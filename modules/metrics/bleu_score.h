#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/text_metric.h>

#include <cstdint>

namespace levin::metrics {

/// Arguments of BLEUScore, with torchmetrics' names and defaults; each n-gram has the same weight.
struct BLEUScoreOptions {
  int64_t n_gram = LEVIN_OPTION(n_gram, 4, "Longest sequence of words that is compared", {.min = 1, .max = 32});
  bool smooth = LEVIN_OPTION(smooth, false, "Add 1 to the counts of sequences of two words or more");
};

/// The geometric mean of the precisions of word sequences, of all texts together, times a penalty for texts that are
/// shorter than their targets; from 0 to 1. Words are what white space separates. 0 if a precision is 0.
/// Source: Papineni et al. (2002), https://lightning.ai/docs/torchmetrics/stable/text/bleu_score.html
class BLEUScore final : public Cloneable<BLEUScore, TextMetric> {
 public:
  using Options = BLEUScoreOptions;
  /// Throws levin::UsageError for bad options.
  explicit BLEUScore(Options options = {});

 private:
  void add(const TextPair& texts, std::vector<double>& counts) const override;
  double value(const std::vector<double>& counts) const override;

  size_t n_gram_;
  bool smooth_;
};

}  // namespace levin::metrics
