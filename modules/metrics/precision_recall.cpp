#include <levin/modules/metrics/precision_recall.h>
#include <ATen/TensorOperators.h>

namespace levin::metrics {

at::Tensor Precision::score(const StatCounts& counts) const { return divide(counts.tp, counts.tp + counts.fp); }

at::Tensor Recall::score(const StatCounts& counts) const { return divide(counts.tp, counts.tp + counts.fn); }

at::Tensor F1Score::score(const StatCounts& counts) const {
  return divide(2 * counts.tp, 2 * counts.tp + counts.fp + counts.fn);
}

}  // namespace levin::metrics
