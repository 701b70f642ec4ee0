#pragma once
#include <ATen/core/Tensor.h>

namespace levin {

/// Returns the only element of a CPU tensor, without the dispatcher for the common dtypes.
inline double read_cpu_scalar(const at::Tensor& value) {
  switch (value.scalar_type()) {
    case at::kFloat:
      return *value.const_data_ptr<float>();
    case at::kDouble:
      return *value.const_data_ptr<double>();
    case at::kLong:
      return static_cast<double>(*value.const_data_ptr<int64_t>());
    default:
      return value.item<double>();
  }
}

}  // namespace levin
