#include <levin/modules/metrics/r2_score.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>
#include <levin/modules/metrics/engine/regression_input.h>

#include <limits>
#include <utility>

namespace levin::metrics {

R2Score::R2Score(Options options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "R2Score");
  sum_of_squares_ = add_state("sum_squared_error", {options_.num_outputs}, at::kDouble);
  sum_ = add_state("sum_error", {options_.num_outputs}, at::kDouble);
  residual_ = add_state("residual", {options_.num_outputs}, at::kDouble);
  total_ = add_state("total", {}, at::kLong);
}

void R2Score::update_states(const at::Tensor& preds, const at::Tensor& target) {
  const RegressionInput input = to_rows("R2Score", preds, target, options_.num_outputs);
  const at::Tensor truth = input.target.to(at::kDouble);
  sum(sum_of_squares_).add_(truth.square().sum(0));
  sum(sum_).add_(truth.sum(0));
  sum(residual_).add_((input.target - input.preds).square().sum(0, /*keepdim=*/false, at::kDouble));
  sum(total_).add_(input.target.size(0));
}

at::Tensor R2Score::compute_value() const {
  const at::Tensor rows = sum(total_).to(at::kDouble);
  const at::Tensor around_mean = sum(sum_of_squares_) - sum(sum_) * (sum(sum_) / rows);
  // The difference that rounding alone leaves between equal numbers.
  const at::Tensor constant = around_mean <= sum(sum_of_squares_) * (rows * std::numeric_limits<double>::epsilon());
  const at::Tensor of_constant = (sum(residual_) == 0).to(at::kDouble);
  const at::Tensor each = at::where(constant, of_constant, 1 - sum(residual_) / around_mean);
  at::Tensor score = each;
  if (options_.multioutput == MultiOutput::UniformAverage) score = each.mean();
  if (options_.multioutput == MultiOutput::VarianceWeighted) score = (around_mean / around_mean.sum() * each).sum();
  if (options_.multioutput == MultiOutput::RawValues && options_.num_outputs == 1) score = each.reshape({});
  if (options_.adjusted > 0) {
    const at::Tensor freedom = rows - static_cast<double>(options_.adjusted + 1);
    score = at::where(freedom > 0, 1 - (1 - score) * (rows - 1) / freedom, score);
  }
  return score.masked_fill(rows < 2, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace levin::metrics
