#pragma once
#include <levin/modules/metrics/metric.h>

namespace levin::metrics {

/// The mean of values over many batches: `update(values)`, of any shape, or `update(values, weights)` with the same
/// shape, where weights are nonnegative numbers or a bool mask. compute: a scalar; NaN if nothing was counted. Source:
/// https://lightning.ai/docs/torchmetrics/stable/aggregation/mean.html
class Mean final : public Cloneable<Mean> {
 public:
  Mean();

 private:
  void update_inputs(at::TensorList inputs) override;
  at::Tensor compute_value() const override;

  size_t total_, weight_;
};

}  // namespace levin::metrics
