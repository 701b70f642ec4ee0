#pragma once
#include <levin/modules/metrics/engine/score_curve.h>

#include <utility>

namespace levin::metrics {

using AUROCOptions = ScoreCurveOptions;

/// The area under the receiver operating characteristic: how probably a positive scores above a negative, equal scores
/// counting one half. 0 where there are no positives or no negatives. Inputs and result: see ScoreCurve.
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
