#include <levin/modules/optim/engine/trust_ratio.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

namespace levin::optim::detail {

at::Tensor trust_ratio(const at::Tensor& norm_of_parameter, const at::Tensor& other_norm, const at::Tensor& ratio) {
  return at::where((norm_of_parameter > 0).logical_and(other_norm > 0), ratio, at::ones_like(ratio));
}

}  // namespace levin::optim::detail
