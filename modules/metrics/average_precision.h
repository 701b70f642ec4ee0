#pragma once
#include <levin/modules/metrics/engine/score_curve.h>

#include <utility>

namespace levin::metrics {

using AveragePrecisionOptions = ScoreCurveOptions;

/// The area under the precision-recall curve: the mean of the precisions, weighted by the increase in recall.
///
/// 0 without positives. In the exact multiclass mode (without thresholds) a class without positives is NaN, which macro
/// and weighted averages skip, unless class 0 is the only class seen (as in torchmetrics). Inputs and result: see
/// ScoreCurve.
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
