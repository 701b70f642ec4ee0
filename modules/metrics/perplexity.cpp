#include <levin/modules/metrics/perplexity.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <levin/core/system/error.h>

#include <limits>

namespace levin::metrics {

Perplexity::Perplexity(Options options) : options_(options) {
  total_ = add_state("total_log_probs", {}, at::kDouble);
  count_ = add_state("count", {}, at::kLong);
}

void Perplexity::update_states(const at::Tensor& preds, const at::Tensor& target) {
  if (preds.dim() != 3 || target.dim() != 2 || preds.sizes().slice(0, 2) != target.sizes() ||
      !preds.is_floating_point() || !at::isIntegralType(target.scalar_type(), /*includeBool=*/false))
    throw UsageError(
        "Perplexity: expected floating preds [batch, length, vocabulary] and integer target "
        "[batch, length], got ",
        preds.sizes(), " ", preds.scalar_type(), " and ", target.sizes(), " ", target.scalar_type());
  const at::Tensor tokens = target.reshape(-1).to(at::kLong);
  at::Tensor logits = preds.reshape({-1, preds.size(2)});
  if (logits.scalar_type() != at::kDouble) logits = logits.to(at::kFloat);
  // The lowest integer means "ignore nothing": cross entropy always ignores some value.
  const int64_t ignored = options_.ignore_index.value_or(std::numeric_limits<int64_t>::min());
  const at::Tensor losses = at::cross_entropy_loss(logits, tokens, {}, at::Reduction::None, ignored);
  sum(total_).add_(losses.sum(at::kDouble));
  if (options_.ignore_index)
    sum(count_).add_((tokens != ignored).sum());
  else
    sum(count_).add_(tokens.numel());
}

at::Tensor Perplexity::compute_value() const { return (sum(total_) / sum(count_)).exp(); }

}  // namespace levin::metrics
