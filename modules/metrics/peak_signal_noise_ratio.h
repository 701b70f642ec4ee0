#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/metric.h>

#include <optional>

namespace levin::metrics {

/// Arguments of PeakSignalNoiseRatio, with torchmetrics' names and defaults.
struct PeakSignalNoiseRatioOptions {
  std::optional<double> data_range = LEVIN_OPTION(
      data_range, {}, "Largest difference of two values, such as 1 or 255; required", {.exclusive_min = 0});
  double base = LEVIN_OPTION(base, 10, "Base of the logarithm", {.exclusive_min = 1});
};

/// 10 log(data_range^2 / mean squared error), in decibels, over the elements of all batches.
///
/// `update` takes preds and target of the same shape. compute: a scalar; infinite for equal inputs.
/// Source: https://lightning.ai/docs/torchmetrics/stable/image/peak_signal_noise_ratio.html
class PeakSignalNoiseRatio final : public Cloneable<PeakSignalNoiseRatio> {
 public:
  using Options = PeakSignalNoiseRatioOptions;
  /// Throws levin::UsageError for bad options.
  explicit PeakSignalNoiseRatio(Options options);

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
  at::Tensor compute_value() const override;

  Options options_;
  size_t error_, total_;
};

}  // namespace levin::metrics
