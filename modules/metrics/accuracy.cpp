#include <levin/modules/metrics/accuracy.h>
#include <ATen/TensorOperators.h>

namespace levin::metrics {

at::Tensor Accuracy::score(const StatCounts& counts) const {
  const at::Tensor positives = counts.tp + counts.fn;
  if (task_kind() == TaskKind::Multiclass) return divide(counts.tp, positives);
  return divide(counts.tp + counts.tn, positives + counts.tn + counts.fp);
}

}  // namespace levin::metrics
