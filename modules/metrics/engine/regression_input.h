#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace levin::metrics {

/// Predicted and true values, float32 or float64 [rows, outputs].
struct RegressionInput {
  at::Tensor preds = {}, target = {};
};

/// Rows from preds and target of one shape: [...] for one output, [batch, outputs] for several. Integers and short
/// floats become float32. Throws levin::UsageError, which `metric` begins, for other shapes.
RegressionInput to_rows(const char* metric, const at::Tensor& preds, const at::Tensor& target, int64_t outputs);

}  // namespace levin::metrics
