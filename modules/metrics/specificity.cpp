#include <levin/modules/metrics/specificity.h>
#include <ATen/TensorOperators.h>

namespace levin::metrics {

at::Tensor Specificity::score(const StatCounts& counts) const { return divide(counts.tn, counts.tn + counts.fp); }

}  // namespace levin::metrics
