#pragma once
#include <levin/modules/metrics/engine/stat_scores.h>

#include <utility>

namespace levin::metrics {

using AccuracyOptions = StatScoresOptions;

/// The fraction of correct predictions. Binary and multilabel: (tp + tn) / all; multiclass: tp / (tp + fn), so that the
/// macro average is the balanced accuracy. Inputs and result: see StatScores.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/accuracy.html
class Accuracy final : public Cloneable<Accuracy, StatScores> {
 public:
  using Options = AccuracyOptions;
  explicit Accuracy(Options options) : Cloneable("Accuracy", std::move(options)) {}

 private:
  at::Tensor score(const StatCounts& counts) const override;
  bool skips_predicted_classes() const override { return true; }
};

}  // namespace levin::metrics
