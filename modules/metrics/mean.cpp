#include <levin/modules/metrics/mean.h>
#include <ATen/TensorOperators.h>
#include <levin/core/system/error.h>

namespace levin::metrics {

Mean::Mean() : total_(add_state("total", {}, at::kDouble)), weight_(add_state("weight", {}, at::kDouble)) {}

void Mean::update_inputs(at::TensorList inputs) {
  if (inputs.size() > 2)
    throw UsageError("Mean: expected values, and at most weights, got ", inputs.size(), " tensors");
  const at::Tensor values = inputs[0].to(at::kDouble);
  if (inputs.size() == 1) {
    sum(total_).add_(values.sum());
    sum(weight_).add_(values.numel());
    return;
  }
  if (inputs[1].sizes() != values.sizes())
    throw UsageError("Mean: expected weights shaped as the values, ", values.sizes(), ", got ", inputs[1].sizes());
  const at::Tensor weights = inputs[1].to(at::kDouble);
  // Masked-out values may be NaN and must not reach the sum.
  sum(total_).add_((values * weights).masked_fill(weights == 0, 0).sum());
  sum(weight_).add_(weights.sum());
}

at::Tensor Mean::compute_value() const { return sum(total_) / sum(weight_); }

}  // namespace levin::metrics
