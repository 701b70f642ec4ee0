#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/metric.h>

#include <cstdint>

namespace levin::metrics {

/// Arguments of PearsonCorrCoef and SpearmanCorrCoef, with torchmetrics' names and defaults.
struct CorrCoefOptions {
  int64_t num_outputs =
      LEVIN_OPTION(num_outputs, 1, "Above 1: one value for each column of [batch, num_outputs]", {.min = 1});
};

/// The linear correlation of preds and target, from -1 to 1.
///
/// `update` takes preds and target of the same shape, [batch, num_outputs] if there are several outputs. Only sums are
/// kept, in float64: values whose mean is 1e6 times their standard deviation lose four digits. compute: a scalar, or
/// [num_outputs]; NaN for constant values.
/// Source: https://lightning.ai/docs/torchmetrics/stable/regression/pearson_corr_coef.html
class PearsonCorrCoef final : public Cloneable<PearsonCorrCoef> {
 public:
  using Options = CorrCoefOptions;
  /// Throws levin::UsageError for bad options.
  explicit PearsonCorrCoef(Options options = {});

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
  at::Tensor compute_value() const override;

  int64_t num_outputs_;
  size_t sums_, products_, total_;
};

/// The correlation of the ranks of preds and target, from -1 to 1; equal values have their mean rank.
///
/// `update` takes inputs as PearsonCorrCoef does; all values are kept. compute: a scalar, or [num_outputs]; 0 for
/// constant values, NaN if nothing was counted.
/// Source: https://lightning.ai/docs/torchmetrics/stable/regression/spearman_corr_coef.html
class SpearmanCorrCoef final : public Cloneable<SpearmanCorrCoef> {
 public:
  using Options = CorrCoefOptions;
  /// Throws levin::UsageError for bad options.
  explicit SpearmanCorrCoef(Options options = {});

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
  at::Tensor compute_value() const override;

  int64_t num_outputs_;
  size_t preds_, target_;
};

}  // namespace levin::metrics
