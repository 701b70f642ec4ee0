#include <levin/modules/metrics/roc.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace levin::metrics {
namespace {

/// Returns the share of `all`; 0 of none.
at::Tensor rate(const at::Tensor& counts, const at::Tensor& all) { return (counts / all).masked_fill(all == 0, 0); }

}  // namespace

Curve ROC::curve_of(const CurveCounts& counts, const at::Tensor& thresholds, bool /*only_first*/) const {
  const at::Tensor fpr = rate(counts.fp, counts.negatives), tpr = rate(counts.tp, counts.positives);
  if (!is_exact()) return {.x = fpr, .y = tpr, .thresholds = thresholds};
  const at::Tensor origin = at::zeros({1}, fpr.options());
  return {.x = at::cat({origin, fpr}),
          .y = at::cat({origin, tpr}),
          .thresholds = at::cat({at::ones({1}, fpr.options()), thresholds})};
}

}  // namespace levin::metrics
