#pragma once
#include <levin/modules/metrics/engine/stat_scores.h>

#include <utility>

namespace levin::metrics {

using HammingDistanceOptions = StatScoresOptions;

/// The fraction of wrong predictions, 1 - Accuracy. Inputs and result: see StatScores.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/hamming_distance.html
class HammingDistance final : public Cloneable<HammingDistance, StatScores> {
 public:
  using Options = HammingDistanceOptions;
  explicit HammingDistance(Options options) : Cloneable("HammingDistance", std::move(options)) {}

 private:
  at::Tensor score(const StatCounts& counts) const override;
};

}  // namespace levin::metrics
