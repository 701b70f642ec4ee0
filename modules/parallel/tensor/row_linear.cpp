#include <levin/modules/parallel/tensor/row_linear.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/tensor/linear_values.h>
#include <levin/modules/parallel/tensor/tensor_collectives.h>

namespace levin::parallel {

RowLinearImpl::RowLinearImpl(const RowLinearOptions& options_, const TensorGroup& group)
    : torch::nn::Module("RowLinear"), options(options_) {
  const auto [first_weight, first_bias] =
      first_values_of_linear(options.in_features, options.out_features, options.bias, options.initialized);
  weight = register_parameter("weight", first_weight);
  bias = register_parameter("bias", first_bias, options.bias);
  if (!group) return;
  divide(group);
  if (!bias.defined()) return;
  at::Tensor values = bias.detach();
  group->broadcast(values, /*source=*/0);
}

at::Tensor RowLinearImpl::forward(const at::Tensor& x) {
  if (!is_divided()) return at::linear(x, weight, bias);
  const at::Tensor own = options.input_is_divided ? x : scatter_to_tensor_group(x, -1, tensor_group());
  const at::Tensor sum = reduce_from_tensor_group(at::linear(own, weight), tensor_group());
  return bias.defined() ? sum + bias : sum;
}

void RowLinearImpl::check_division(int64_t ranks) const {
  if (options.in_features >= ranks) return;
  throw UsageError("RowLinear: ", ranks, " ranks cannot divide ", options.in_features,
                   " input features; choose another number of tensor-parallel ranks");
}

std::vector<DividedParameter> RowLinearImpl::divisible_parameters() const {
  return {{.name = "weight", .parameter = weight, .partition = {.dim = 1, .size = options.in_features}}};
}

}  // namespace levin::parallel
