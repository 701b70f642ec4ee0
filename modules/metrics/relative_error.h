#pragma once
#include <levin/modules/metrics/mean_error.h>

namespace levin::metrics {

/// Metrics of relative errors have no options.
struct RelativeErrorOptions {};

/// The mean of (log(1 + preds) - log(1 + target))^2, of values above -1. Inputs and result: see MeanError.
/// Source: https://lightning.ai/docs/torchmetrics/stable/regression/mean_squared_log_error.html
class MeanSquaredLogError final : public Cloneable<MeanSquaredLogError, MeanError> {
 public:
  using Options = RelativeErrorOptions;
  explicit MeanSquaredLogError(Options = {}) : Cloneable("MeanSquaredLogError", 1) {}

 private:
  at::Tensor error(const at::Tensor& preds, const at::Tensor& target) const override;
};

/// The mean of |preds - target| / |target|, with 1.17e-6 for a smaller |target|. Inputs and result: see MeanError.
/// Source: https://lightning.ai/docs/torchmetrics/stable/regression/mean_absolute_percentage_error.html
class MeanAbsolutePercentageError final : public Cloneable<MeanAbsolutePercentageError, MeanError> {
 public:
  using Options = RelativeErrorOptions;
  explicit MeanAbsolutePercentageError(Options = {}) : Cloneable("MeanAbsolutePercentageError", 1) {}

 private:
  at::Tensor error(const at::Tensor& preds, const at::Tensor& target) const override;
};

/// The mean of 2 |preds - target| / (|target| + |preds|), with 1.17e-6 for a smaller sum. Inputs and result: see
/// MeanError.
/// Source: https://lightning.ai/docs/torchmetrics/stable/regression/symmetric_mean_absolute_percentage_error.html
class SymmetricMeanAbsolutePercentageError final : public Cloneable<SymmetricMeanAbsolutePercentageError, MeanError> {
 public:
  using Options = RelativeErrorOptions;
  explicit SymmetricMeanAbsolutePercentageError(Options = {}) : Cloneable("SymmetricMeanAbsolutePercentageError", 1) {}

 private:
  at::Tensor error(const at::Tensor& preds, const at::Tensor& target) const override;
};

/// The sum of |preds - target| divided by the sum of |target|.
///
/// `update` takes preds and target of the same shape. compute: a scalar.
/// Source: https://lightning.ai/docs/torchmetrics/stable/regression/weighted_mean_absolute_percentage_error.html
class WeightedMeanAbsolutePercentageError final : public Cloneable<WeightedMeanAbsolutePercentageError> {
 public:
  using Options = RelativeErrorOptions;
  explicit WeightedMeanAbsolutePercentageError(Options = {});

 private:
  void update_states(const at::Tensor& preds, const at::Tensor& target) override;
  at::Tensor compute_value() const override;

  size_t error_, scale_;
};

}  // namespace levin::metrics
