#include <levin/modules/metrics/peak_signal_noise_ratio.h>
#include <ATen/TensorOperators.h>
#include <levin/core/system/error.h>
#include <levin/modules/metrics/engine/regression_input.h>

#include <cmath>
#include <utility>

namespace levin::metrics {

PeakSignalNoiseRatio::PeakSignalNoiseRatio(Options options) : options_(std::move(options)) {
  if (!options_.data_range)
    throw UsageError("PeakSignalNoiseRatio.data_range: missing; set the largest difference of two values, such as 1");
  schema_of<Options>().check(&options_, "PeakSignalNoiseRatio");
  error_ = add_state("sum_squared_error", {}, at::kDouble);
  total_ = add_state("total", {}, at::kLong);
}

void PeakSignalNoiseRatio::update_states(const at::Tensor& preds, const at::Tensor& target) {
  const RegressionInput input = to_rows("PeakSignalNoiseRatio", preds, target, 1);
  sum(error_).add_((input.preds - input.target).square().sum(at::kDouble));
  sum(total_).add_(preds.numel());
}

at::Tensor PeakSignalNoiseRatio::compute_value() const {
  const double range = *options_.data_range;
  return 10 / std::log(options_.base) * (range * range * sum(total_) / sum(error_)).log();
}

}  // namespace levin::metrics
