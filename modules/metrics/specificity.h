#pragma once
#include <levin/modules/metrics/engine/stat_scores.h>

#include <utility>

namespace levin::metrics {

using SpecificityOptions = StatScoresOptions;

/// tn / (tn + fp): the fraction of negatives that are recognised. Inputs and result: see StatScores.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/specificity.html
class Specificity final : public Cloneable<Specificity, StatScores> {
 public:
  using Options = SpecificityOptions;
  explicit Specificity(Options options) : Cloneable("Specificity", std::move(options)) {}

 private:
  at::Tensor score(const StatCounts& counts) const override;
};

}  // namespace levin::metrics
