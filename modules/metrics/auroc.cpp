#include <levin/modules/metrics/auroc.h>
#include <ATen/TensorOperators.h>

namespace levin::metrics {

at::Tensor AUROC::values(const CurveCounts& counts) const {
  const int64_t steps = counts.tp.size(0) - 1;
  const at::Tensor width = counts.fp.narrow(0, 1, steps) - counts.fp.narrow(0, 0, steps);
  const at::Tensor height = counts.tp.narrow(0, 1, steps) + counts.tp.narrow(0, 0, steps);
  at::Tensor area = (width * height).sum(0);
  // The step from (0, 0) to the first point; torchmetrics' binned curve starts at its highest threshold.
  if (is_exact()) area = area + counts.fp[0] * counts.tp[0];
  const at::Tensor whole = 2 * counts.positives * counts.negatives;
  return (area / whole).masked_fill(whole == 0, 0);
}

}  // namespace levin::metrics
