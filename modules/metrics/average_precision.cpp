#include <levin/modules/metrics/average_precision.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

namespace levin::metrics {

at::Tensor AveragePrecision::values(const CurveCounts& counts) const {
  const int64_t points = counts.tp.size(0);
  const at::Tensor before = at::cat({at::zeros_like(counts.tp.narrow(0, 0, 1)), counts.tp.narrow(0, 0, points - 1)});
  const at::Tensor answers = counts.tp + counts.fp;
  const at::Tensor precision = (counts.tp / answers).masked_fill(answers == 0, 0);
  const at::Tensor value = ((counts.tp - before) * precision).sum(0) / counts.positives;
  at::Tensor without_positives = at::zeros_like(value);
  if (is_exact() && task_kind() == TaskKind::Multiclass)
    without_positives = at::where(counts.positives.narrow(0, 1, counts.positives.size(0) - 1).sum() == 0,
                                  without_positives, at::full_like(value, std::numeric_limits<double>::quiet_NaN()));
  return at::where(counts.positives == 0, without_positives, value);
}

}  // namespace levin::metrics
