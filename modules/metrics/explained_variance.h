#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/multi_output.h>
#include <levin/modules/metrics/metric.h>

#include <cstdint>

namespace levin::metrics {

/// Arguments of ExplainedVariance, with torchmetrics' names and defaults; `num_outputs` is required if there are
/// several outputs.
struct ExplainedVarianceOptions {
  int64_t num_outputs = LEVIN_OPTION(num_outputs, 1, "Columns of [batch, num_outputs]", {.min = 1});
  Choice<MultiOutput> multioutput = LEVIN_OPTION(multioutput, MultiOutput::UniformAverage,
                                                 "How outputs become one value; raw_values: one value each");
};

/// 1 - (variance of the residuals) / (variance of the target): R2Score without the mean error.
///
/// `update` takes inputs as R2Score does. compute: a scalar, or [num_outputs] with raw_values. A constant target gives
/// 1 if the residuals are constant, and 0 otherwise. NaN if nothing was counted. Source:
/// https://lightning.ai/docs/torchmetrics/stable/regression/explained_variance.html
class ExplainedVariance final : public Cloneable<ExplainedVariance> {
 public:
  using Options = ExplainedVarianceOptions;
  /// Throws levin::UsageError for bad options.
  explicit ExplainedVariance(Options options = {});

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
  at::Tensor compute_value() const override;

  Options options_;
  size_t residual_, squared_residual_, target_, squared_target_, total_;
};

}  // namespace levin::metrics
