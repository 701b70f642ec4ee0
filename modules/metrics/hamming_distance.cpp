#include <levin/modules/metrics/hamming_distance.h>
#include <ATen/TensorOperators.h>

namespace levin::metrics {

at::Tensor HammingDistance::score(const StatCounts& counts) const {
  const at::Tensor positives = counts.tp + counts.fn;
  if (task_kind() == TaskKind::Multiclass) return 1 - divide(counts.tp, positives);
  return 1 - divide(counts.tp + counts.tn, positives + counts.tn + counts.fp);
}

}  // namespace levin::metrics
