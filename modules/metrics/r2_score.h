#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/engine/multi_output.h>
#include <levin/modules/metrics/metric.h>

#include <cstdint>

namespace levin::metrics {

/// Arguments of R2Score, with torchmetrics' names and defaults; `num_outputs` is required if there are several outputs.
struct R2ScoreOptions {
  int64_t num_outputs = LEVIN_OPTION(num_outputs, 1, "Columns of [batch, num_outputs]", {.min = 1});
  int64_t adjusted = LEVIN_OPTION(adjusted, 0, "Independent regressors, for the adjusted score", {.min = 0});
  Choice<MultiOutput> multioutput = LEVIN_OPTION(multioutput, MultiOutput::UniformAverage,
                                                 "How outputs become one value; raw_values: one value each");
};

/// The coefficient of determination: 1 - (sum of squared residuals) / (sum of squares around the mean of the target).
///
/// `update` takes preds and target of the same shape, [batch, num_outputs] if there are several outputs. compute: a
/// scalar, or [num_outputs] with raw_values. A constant target gives 1 if the predictions are exact and 0 otherwise;
/// fewer than two rows give NaN. With at most `adjusted` + 1 rows the score is not adjusted.
/// Source: https://lightning.ai/docs/torchmetrics/stable/regression/r2_score.html
class R2Score final : public Cloneable<R2Score> {
 public:
  using Options = R2ScoreOptions;
  /// Throws levin::UsageError for bad options.
  explicit R2Score(Options options = {});

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
  at::Tensor compute_value() const override;

  Options options_;
  size_t sum_of_squares_, sum_, residual_, total_;
};

}  // namespace levin::metrics
