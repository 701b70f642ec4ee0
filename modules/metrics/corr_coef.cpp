#include <levin/modules/metrics/corr_coef.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/searchsorted.h>
#include <ATen/ops/stack.h>
#include <levin/modules/metrics/engine/regression_input.h>

#include <limits>
#include <tuple>
#include <vector>

namespace levin::metrics {
namespace {

int64_t checked_outputs(const CorrCoefOptions& options, const char* metric) {
  schema_of<CorrCoefOptions>().check(&options, metric);
  return options.num_outputs;
}

/// Returns the ranks of values [rows], from 1; equal values have the mean of their ranks. float64.
at::Tensor ranks(const at::Tensor& values) {
  const at::Tensor sorted = std::get<0>(values.sort());
  const at::Tensor lower = at::searchsorted(sorted, values),
                   not_greater = at::searchsorted(sorted, values, /*out_int32=*/false, /*right=*/true);
  return (lower + not_greater + 1).to(at::kDouble) / 2;
}

/// Returns the correlation of two rows of ranks, a float64 scalar; 0 if one is constant.
at::Tensor correlation(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor left = a - a.mean(), right = b - b.mean();
  const at::Tensor scale = (left.square().sum() * right.square().sum()).sqrt();
  return ((left * right).sum() / scale).masked_fill(scale == 0, 0).clamp(-1, 1);
}

}  // namespace

PearsonCorrCoef::PearsonCorrCoef(Options options) : num_outputs_(checked_outputs(options, "PearsonCorrCoef")) {
  sums_ = add_state("sums", {2, num_outputs_}, at::kDouble);
  products_ = add_state("products", {3, num_outputs_}, at::kDouble);
  total_ = add_state("n_total", {}, at::kLong);
}

void PearsonCorrCoef::update_states(const at::Tensor& preds, const at::Tensor& target) {
  const RegressionInput input = to_rows("PearsonCorrCoef", preds, target, num_outputs_);
  const at::Tensor x = input.preds.to(at::kDouble), y = input.target.to(at::kDouble);
  sum(sums_).add_(at::stack({x.sum(0), y.sum(0)}));
  sum(products_).add_(at::stack({x.square().sum(0), y.square().sum(0), (x * y).sum(0)}));
  sum(total_).add_(x.size(0));
}

at::Tensor PearsonCorrCoef::compute_value() const {
  const at::Tensor mean = sum(sums_) / sum(total_), products = sum(products_) / sum(total_);
  const at::Tensor x = products[0] - mean[0].square(), y = products[1] - mean[1].square();
  const at::Tensor both = products[2] - mean[0] * mean[1];
  // What rounding alone leaves of the variance of equal numbers.
  const double rounding = 4 * std::numeric_limits<double>::epsilon();
  const at::Tensor constant = (x <= products[0] * rounding).logical_or(y <= products[1] * rounding);
  const at::Tensor value =
      (both / (x * y).sqrt()).clamp(-1, 1).masked_fill(constant, std::numeric_limits<double>::quiet_NaN());
  return num_outputs_ == 1 ? value.reshape({}) : value;
}

SpearmanCorrCoef::SpearmanCorrCoef(Options options)
    : num_outputs_(checked_outputs(options, "SpearmanCorrCoef")),
      preds_(add_list_state("preds")),
      target_(add_list_state("target")) {}

void SpearmanCorrCoef::update_states(const at::Tensor& preds, const at::Tensor& target) {
  const RegressionInput input = to_rows("SpearmanCorrCoef", preds, target, num_outputs_);
  append(preds_, input.preds.clone());
  append(target_, input.target.clone());
}

at::Tensor SpearmanCorrCoef::compute_value() const {
  const at::Tensor preds = rows(preds_), target = rows(target_);
  std::vector<at::Tensor> values;
  for (int64_t output = 0; preds.defined() && output < num_outputs_; ++output)
    values.push_back(
        correlation(ranks(preds.select(1, output).contiguous()), ranks(target.select(1, output).contiguous())));
  const at::Tensor value = values.empty() ? at::full({num_outputs_}, std::numeric_limits<double>::quiet_NaN(),
                                                     at::TensorOptions(at::kDouble).device(device()))
                                          : at::stack(values);
  return num_outputs_ == 1 ? value.reshape({}) : value;
}

}  // namespace levin::metrics
