#include <levin/modules/metrics/mean_error.h>
#include <ATen/TensorOperators.h>
#include <levin/modules/metrics/regression_input.h>

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
  count_ = add_state("count", {1}, at::kLong);
}

void MeanError::update_states(const at::Tensor& preds, const at::Tensor& target) {
  const RegressionInput input = to_rows(metric_, preds, target, num_outputs_);
  sum(total_).add_(error(input.preds - input.target).sum(0, /*keepdim=*/false, at::kDouble));
  sum(count_).add_(input.preds.size(0));
}

at::Tensor MeanError::compute_value() const {
  const at::Tensor mean = sum(total_) / sum(count_);
  return num_outputs_ == 1 ? mean.reshape({}) : mean;
}

MeanSquaredError::MeanSquaredError(Options options)
    : Cloneable("MeanSquaredError", checked_outputs(options, "MeanSquaredError")), squared_(options.squared) {}

at::Tensor MeanSquaredError::error(const at::Tensor& difference) const { return difference.square(); }

at::Tensor MeanSquaredError::compute_value() const {
  const at::Tensor mean = MeanError::compute_value();
  return squared_ ? mean : mean.sqrt();
}

MeanAbsoluteError::MeanAbsoluteError(Options options)
    : Cloneable("MeanAbsoluteError", checked_outputs(options, "MeanAbsoluteError")) {}

at::Tensor MeanAbsoluteError::error(const at::Tensor& difference) const { return difference.abs(); }

}  // namespace levin::metrics
