#include <levin/modules/metrics/kl_divergence.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/xlogy.h>
#include <levin/core/system/error.h>

namespace levin::metrics {
namespace {

RowReduction checked_reduction(const KLDivergenceOptions& options) {
  schema_of<KLDivergenceOptions>().check(&options, "KLDivergence");
  return options.reduction;
}

}  // namespace

KLDivergence::KLDivergence(Options options) : Cloneable(checked_reduction(options)), log_prob_(options.log_prob) {}

void KLDivergence::update_states(const at::Tensor& p, const at::Tensor& q) {
  if (p.dim() != 2 || p.sizes() != q.sizes() || !p.is_floating_point() || !q.is_floating_point())
    throw UsageError("KLDivergence: expected floating p and q [batch, values], got ", p.sizes(), " ", p.scalar_type(),
                     " and ", q.sizes(), " ", q.scalar_type());
  at::Tensor left = p.to(at::kDouble), right = q.to(at::kDouble);
  if (log_prob_) return count((left.exp() * (left - right)).sum(1));
  left = left / left.sum(1, /*keepdim=*/true);
  right = right / right.sum(1, /*keepdim=*/true);
  count(at::xlogy(left, left / right).sum(1));
}

}  // namespace levin::metrics
