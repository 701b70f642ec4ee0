#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/metrics/metric.h>

namespace levin::metrics {

/// Arguments of MeanSquaredError, with torchmetrics' names and defaults.
struct MeanSquaredErrorOptions {
  bool squared = LEVIN_OPTION(squared, true, "False: the root of it");
  int64_t num_outputs =
      LEVIN_OPTION(num_outputs, 1, "Above 1: one value for each column of [batch, num_outputs]", {.min = 1});
};

/// Arguments of MeanAbsoluteError, with torchmetrics' names and defaults.
struct MeanAbsoluteErrorOptions {
  int64_t num_outputs =
      LEVIN_OPTION(num_outputs, 1, "Above 1: one value for each column of [batch, num_outputs]", {.min = 1});
};

/// The base class of errors averaged over elements, or over the rows of each output.
///
/// `update` takes preds and target of the same shape; with num_outputs > 1 the shape is [batch, num_outputs]. An
/// optional third tensor holds weights: shaped as preds or, with num_outputs > 1, [batch]; nonnegative numbers or a
/// bool mask. compute: a scalar, or [num_outputs]; NaN if nothing was counted.
class MeanError : public Metric {
 public:
  MeanError(const char* metric, int64_t num_outputs);

 protected:
  /// Returns the errors of float32 or float64 values, elementwise.
  virtual at::Tensor error(const at::Tensor& preds, const at::Tensor& target) const = 0;
  void update_inputs(at::TensorList inputs) override;
  at::Tensor compute_value() const override;

 private:
  const char* metric_;
  int64_t num_outputs_;
  size_t total_, count_;
};

/// The mean of the squared differences. Inputs and result: see MeanError.
/// Source: https://lightning.ai/docs/torchmetrics/stable/regression/mean_squared_error.html
class MeanSquaredError final : public Cloneable<MeanSquaredError, MeanError> {
 public:
  using Options = MeanSquaredErrorOptions;
  /// Throws levin::UsageError for bad options.
  explicit MeanSquaredError(Options options = {});

 private:
  at::Tensor error(const at::Tensor& preds, const at::Tensor& target) const override;
  at::Tensor compute_value() const override;

  bool squared_;
};

/// The mean of the absolute differences. Inputs and result: see MeanError.
/// Source: https://lightning.ai/docs/torchmetrics/stable/regression/mean_absolute_error.html
class MeanAbsoluteError final : public Cloneable<MeanAbsoluteError, MeanError> {
 public:
  using Options = MeanAbsoluteErrorOptions;
  /// Throws levin::UsageError for bad options.
  explicit MeanAbsoluteError(Options options = {});

 private:
  at::Tensor error(const at::Tensor& preds, const at::Tensor& target) const override;
};

}  // namespace levin::metrics
