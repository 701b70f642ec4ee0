#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace levin::metrics {

/// Predicted and true values, float32 or float64 [rows, outputs].
struct RegressionInput {
  at::Tensor preds = {}, target = {};
};

/// Converts preds and target of the same shape to rows: [...] for one output, [batch, outputs] for several. Integers
/// and 16-bit floats become float32. Throws levin::UsageError, prefixed with `metric`, for other shapes.
RegressionInput to_rows(const char* metric, const at::Tensor& preds, const at::Tensor& target, int64_t outputs);

}  // namespace levin::metrics
