#include <levin/data/indices.h>
#include <ATen/ops/arange.h>

namespace levin::data {

at::Tensor Indices::tensor() const {
  return is_range() ? at::arange(start_, start_ + size_, at::TensorOptions(at::kLong)) : tensor_;
}

}  // namespace levin::data
