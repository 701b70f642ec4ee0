#pragma once
#include <levin/modules/metrics/engine/stat_scores.h>

#include <utility>

namespace levin::metrics {

using PrecisionOptions = StatScoresOptions;
using RecallOptions = StatScoresOptions;
using F1ScoreOptions = StatScoresOptions;

/// tp / (tp + fp): the fraction of positive predictions that are correct. Inputs and result: see StatScores.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/precision.html
class Precision final : public Cloneable<Precision, StatScores> {
 public:
  using Options = PrecisionOptions;
  explicit Precision(Options options) : Cloneable("Precision", std::move(options)) {}

 private:
  at::Tensor score(const StatCounts& counts) const override;
  bool skips_predicted_classes() const override { return true; }
};

/// tp / (tp + fn): the fraction of positives that are found. Inputs and result: see StatScores.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/recall.html
class Recall final : public Cloneable<Recall, StatScores> {
 public:
  using Options = RecallOptions;
  explicit Recall(Options options) : Cloneable("Recall", std::move(options)) {}

 private:
  at::Tensor score(const StatCounts& counts) const override;
  bool skips_predicted_classes() const override { return true; }
};

/// 2 tp / (2 tp + fp + fn): the harmonic mean of precision and recall. Inputs and result: see StatScores.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/f1_score.html
class F1Score final : public Cloneable<F1Score, StatScores> {
 public:
  using Options = F1ScoreOptions;
  explicit F1Score(Options options) : Cloneable("F1Score", std::move(options)) {}

 private:
  at::Tensor score(const StatCounts& counts) const override;
};

}  // namespace levin::metrics
