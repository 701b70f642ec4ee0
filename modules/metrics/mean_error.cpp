#include <levin/modules/metrics/mean_error.h>
#include <ATen/TensorOperators.h>
#include <levin/core/system/error.h>
#include <levin/modules/metrics/engine/regression_input.h>

namespace levin::metrics {
namespace {

template <class Options>
int64_t checked_outputs(const Options& options, const char* metric) {
  schema_of<Options>().check(&options, metric);
  return options.num_outputs;
}

}  // namespace

MeanError::MeanError(const char* metric, int64_t num_outputs) : metric_(metric), num_outputs_(num_outputs) {
  total_ = add_state("total", {num_outputs}, at::kDouble);
  count_ = add_state("count", {1}, at::kDouble);
}

void MeanError::update_inputs(at::TensorList inputs) {
  if (inputs.size() < 2 || inputs.size() > 3)
    throw UsageError(metric_, ": expected preds and target, and at most weights, got ", inputs.size(), " tensors");
  const RegressionInput input = to_rows(metric_, inputs[0], inputs[1], num_outputs_);
  const at::Tensor errors = error(input.preds, input.target);
  if (inputs.size() == 2) {
    sum(total_).add_(errors.sum(0, /*keepdim=*/false, at::kDouble));
    sum(count_).add_(input.preds.size(0));
    return;
  }
  const at::IntArrayRef expected = num_outputs_ == 1 ? inputs[0].sizes() : inputs[0].sizes().slice(0, 1);
  if (inputs[2].sizes() != expected)
    throw UsageError(metric_, ": expected weights ", expected, ", one for each error or row, got ", inputs[2].sizes());
  const at::Tensor weights = inputs[2].reshape({-1, 1}).to(at::kDouble);
  // Masked-out values may be NaN and must not reach the sum.
  sum(total_).add_((errors.to(at::kDouble) * weights).masked_fill(weights == 0, 0).sum(0));
  sum(count_).add_(weights.sum());
}

at::Tensor MeanError::compute_value() const {
  const at::Tensor mean = sum(total_) / sum(count_);
  return num_outputs_ == 1 ? mean.reshape({}) : mean;
}

MeanSquaredError::MeanSquaredError(Options options)
    : Cloneable("MeanSquaredError", checked_outputs(options, "MeanSquaredError")), squared_(options.squared) {}

at::Tensor MeanSquaredError::error(const at::Tensor& preds, const at::Tensor& target) const {
  return (preds - target).square();
}

at::Tensor MeanSquaredError::compute_value() const {
  const at::Tensor mean = MeanError::compute_value();
  return squared_ ? mean : mean.sqrt();
}

MeanAbsoluteError::MeanAbsoluteError(Options options)
    : Cloneable("MeanAbsoluteError", checked_outputs(options, "MeanAbsoluteError")) {}

at::Tensor MeanAbsoluteError::error(const at::Tensor& preds, const at::Tensor& target) const {
  return (preds - target).abs();
}

}  // namespace levin::metrics
