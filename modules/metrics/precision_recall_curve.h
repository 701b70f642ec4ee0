#pragma once
#include <levin/modules/metrics/engine/threshold_curve.h>

namespace levin::metrics {

using PrecisionRecallCurveOptions = ThresholdCurveOptions;

/// Precision (x) and recall (y) at each threshold, by rising thresholds. Without positives the recall is 1; that of a
/// class among others is NaN. Inputs and result: see ThresholdCurve.
/// Source: https://lightning.ai/docs/torchmetrics/stable/classification/precision_recall_curve.html
class PrecisionRecallCurve final : public Cloneable<PrecisionRecallCurve, ThresholdCurve> {
 public:
  using Options = PrecisionRecallCurveOptions;
  /// Throws levin::UsageError for bad options.
  explicit PrecisionRecallCurve(const Options& options) : Cloneable("PrecisionRecallCurve", options) {}

 private:
  Curve curve_of(const CurveCounts& counts, const at::Tensor& thresholds, bool only_first) const override;
};

}  // namespace levin::metrics
