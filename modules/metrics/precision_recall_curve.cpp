#include <levin/modules/metrics/precision_recall_curve.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace levin::metrics {

Curve PrecisionRecallCurve::curve_of(const CurveCounts& counts, const at::Tensor& thresholds, bool only_first) const {
  const at::Tensor precision = counts.tp / (counts.tp + counts.fp);
  at::Tensor recall = counts.tp / counts.positives;
  if (is_exact() && (task_kind() != TaskKind::Multiclass || only_first))
    recall = at::where(counts.positives == 0, at::ones_like(recall), recall);
  const auto options = precision.options();
  return {.x = at::cat({precision.flip(0), at::ones({1}, options)}),
          .y = at::cat({recall.flip(0), at::zeros({1}, options)}),
          .thresholds = thresholds.flip(0)};
}

}  // namespace levin::metrics
