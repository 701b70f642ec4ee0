#pragma once
#include <levin/modules/metrics/engine/score_curve.h>

#include <utility>

namespace levin::metrics {

using AveragePrecisionOptions = ScoreCurveOptions;

/// The area under the precision-recall curve: the mean of the precisions, weighted by the growth of recall.
///
/// Without positives 0; but an exact multiclass one gives a class without positives NaN, which macro and weighted leave
/// out, unless class 0 is all that came (as torchmetrics does). Inputs and result: see ScoreCurve.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/average_precision.html
class AveragePrecision final : public Cloneable<AveragePrecision, ScoreCurve> {
 public:
  using Options = AveragePrecisionOptions;
  /// Throws levin::UsageError for bad options.
  explicit AveragePrecision(Options options) : Cloneable("AveragePrecision", std::move(options)) {}

 private:
  at::Tensor values(const CurveCounts& counts) const override;
};

}  // namespace levin::metrics
