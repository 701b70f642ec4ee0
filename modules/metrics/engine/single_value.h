#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/system/error.h>

namespace levin::metrics {

/// Returns the only element of a metric's value; a host sync. Throws levin::UsageError if there are several.
inline double single_value(const char* wrapper, const at::Tensor& value) {
  if (value.numel() != 1)
    throw UsageError(wrapper, ": expected a metric with a single value, got one with values ", value.sizes());
  return value.item<double>();
}

}  // namespace levin::metrics
