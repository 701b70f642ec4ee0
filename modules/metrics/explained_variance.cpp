#include <levin/modules/metrics/explained_variance.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>
#include <levin/modules/metrics/engine/regression_input.h>

#include <limits>
#include <utility>

namespace levin::metrics {
namespace {

/// Returns the variance from sums over `rows`; 0 where rounding alone leaves a difference.
at::Tensor variance(const at::Tensor& sum_of_squares, const at::Tensor& total, const at::Tensor& rows) {
  const at::Tensor value = sum_of_squares / rows - (total / rows).square();
  const at::Tensor rounding = sum_of_squares * std::numeric_limits<double>::epsilon();
  return value.masked_fill(value <= rounding, 0);
}

}  // namespace

ExplainedVariance::ExplainedVariance(Options options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "ExplainedVariance");
  residual_ = add_state("sum_error", {options_.num_outputs}, at::kDouble);
  squared_residual_ = add_state("sum_squared_error", {options_.num_outputs}, at::kDouble);
  target_ = add_state("sum_target", {options_.num_outputs}, at::kDouble);
  squared_target_ = add_state("sum_squared_target", {options_.num_outputs}, at::kDouble);
  total_ = add_state("num_obs", {}, at::kLong);
}

void ExplainedVariance::update_states(const at::Tensor& preds, const at::Tensor& target) {
  const RegressionInput input = to_rows("ExplainedVariance", preds, target, options_.num_outputs);
  const at::Tensor truth = input.target.to(at::kDouble), residual = truth - input.preds.to(at::kDouble);
  sum(residual_).add_(residual.sum(0));
  sum(squared_residual_).add_(residual.square().sum(0));
  sum(target_).add_(truth.sum(0));
  sum(squared_target_).add_(truth.square().sum(0));
  sum(total_).add_(truth.size(0));
}

at::Tensor ExplainedVariance::compute_value() const {
  const at::Tensor rows = sum(total_).to(at::kDouble);
  const at::Tensor unexplained = variance(sum(squared_residual_), sum(residual_), rows);
  const at::Tensor whole = variance(sum(squared_target_), sum(target_), rows);
  const at::Tensor of_constant = (unexplained == 0).to(at::kDouble);
  const at::Tensor each = at::where(whole == 0, of_constant, 1 - unexplained / whole);
  if (options_.multioutput == MultiOutput::UniformAverage) return each.mean();
  if (options_.multioutput == MultiOutput::VarianceWeighted) return (whole / whole.sum() * each).sum();
  return options_.num_outputs == 1 ? each.reshape({}) : each;
}

}  // namespace levin::metrics
