#include <levin/modules/metrics/exact_match.h>
#include <ATen/TensorOperators.h>
#include <levin/core/system/error.h>

namespace levin::metrics {

ExactMatch::ExactMatch(Options options) : options_(options) {
  correct_ = add_state("correct", {}, at::kLong);
  total_ = add_state("total", {}, at::kLong);
}

void ExactMatch::update_states(const at::Tensor& preds, const at::Tensor& target) {
  const bool has_scores = preds.is_floating_point() && preds.dim() == target.dim() + 1 && preds.size(1) > 0;
  const at::Tensor classes = has_scores ? preds.argmax(1) : preds;
  if (target.dim() < 1 || classes.sizes() != target.sizes() || classes.is_floating_point() ||
      target.is_floating_point())
    throw UsageError(
        "ExactMatch: expected integer preds and target of one shape [samples, ...], or floating preds [samples, "
        "classes, ...], got ",
        preds.sizes(), " ", preds.scalar_type(), " and ", target.sizes(), " ", target.scalar_type());
  at::Tensor matches = classes.eq(target);
  if (options_.ignore_index) matches = matches.logical_or(target.eq(*options_.ignore_index));
  sum(correct_).add_(matches.reshape({target.size(0), -1}).all(1).sum());
  sum(total_).add_(target.size(0));
}

at::Tensor ExactMatch::compute_value() const { return sum(correct_).to(at::kDouble) / sum(total_); }

}  // namespace levin::metrics
