#pragma once
#include <levin/modules/metrics/engine/score_curve.h>

#include <utility>

namespace levin::metrics {

using AUROCOptions = ScoreCurveOptions;

/// The area under the receiver operating characteristic: the probability that a positive scores above a negative, where
/// equal scores count one half. 0 if there are no positives or no negatives. Inputs and result: see ScoreCurve.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/auroc.html
class AUROC final : public Cloneable<AUROC, ScoreCurve> {
 public:
  using Options = AUROCOptions;
  /// Throws levin::UsageError for bad options.
  explicit AUROC(Options options) : Cloneable("AUROC", std::move(options)) {}

 private:
  at::Tensor values(const CurveCounts& counts) const override;
};

}  // namespace levin::metrics
