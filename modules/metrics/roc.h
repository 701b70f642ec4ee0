#pragma once
#include <levin/modules/metrics/engine/threshold_curve.h>

namespace levin::metrics {

using ROCOptions = ThresholdCurveOptions;

/// The receiver operating characteristic: the rate of false positives (x) and that of true positives (y) at each
/// threshold, by falling thresholds; 0 where there are no such samples. Without `thresholds` the curve starts at (0,
/// 0). Inputs and result: see ThresholdCurve. Source:
/// https://lightning.ai/docs/torchmetrics/stable/classification/roc.html
class ROC final : public Cloneable<ROC, ThresholdCurve> {
 public:
  using Options = ROCOptions;
  /// Throws levin::UsageError for bad options.
  explicit ROC(const Options& options) : Cloneable("ROC", options) {}

 private:
  Curve curve_of(const CurveCounts& counts, const at::Tensor& thresholds, bool only_first) const override;
};

}  // namespace levin::metrics
