#include <levin/modules/metrics/relative_error.h>
#include <ATen/TensorOperators.h>
#include <levin/modules/metrics/engine/regression_input.h>

namespace levin::metrics {
namespace {

/// The least denominator, as in torchmetrics and scikit-learn.
constexpr double kLeast = 1.17e-06;

}  // namespace

at::Tensor MeanSquaredLogError::error(const at::Tensor& preds, const at::Tensor& target) const {
  return (preds.log1p() - target.log1p()).square();
}

at::Tensor MeanAbsolutePercentageError::error(const at::Tensor& preds, const at::Tensor& target) const {
  return (preds - target).abs() / target.abs().clamp_min(kLeast);
}

at::Tensor SymmetricMeanAbsolutePercentageError::error(const at::Tensor& preds, const at::Tensor& target) const {
  return 2 * (preds - target).abs() / (target.abs() + preds.abs()).clamp_min(kLeast);
}

WeightedMeanAbsolutePercentageError::WeightedMeanAbsolutePercentageError(Options /*options*/)
    : error_(add_state("sum_abs_error", {}, at::kDouble)), scale_(add_state("sum_scale", {}, at::kDouble)) {}

void WeightedMeanAbsolutePercentageError::update_states(const at::Tensor& preds, const at::Tensor& target) {
  const RegressionInput input = to_rows("WeightedMeanAbsolutePercentageError", preds, target, 1);
  sum(error_).add_((input.preds - input.target).abs().sum(at::kDouble));
  sum(scale_).add_(input.target.abs().sum(at::kDouble));
}

at::Tensor WeightedMeanAbsolutePercentageError::compute_value() const {
  return sum(error_) / sum(scale_).clamp_min(kLeast);
}

}  // namespace levin::metrics
