#include <levin/modules/parallel/tensor/column_linear.h>
#include <ATen/ops/linear.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/tensor/linear_values.h>
#include <levin/modules/parallel/tensor/tensor_collectives.h>

namespace levin::parallel {

ColumnLinearImpl::ColumnLinearImpl(const ColumnLinearOptions& options_, const TensorGroup& group)
    : torch::nn::Module("ColumnLinear"), options(options_) {
  if (options.blocks < 1 || options.out_features % options.blocks != 0)
    throw UsageError("ColumnLinear: ", options.blocks, " blocks of equal size do not make ", options.out_features,
                     " output features");
  const auto [first_weight, first_bias] =
      first_values_of_linear(options.in_features, options.out_features, options.bias, options.initialized);
  weight = register_parameter("weight", first_weight);
  bias = register_parameter("bias", first_bias, options.bias);
  if (group) divide(group);
}

at::Tensor ColumnLinearImpl::forward(const at::Tensor& x) {
  const at::Tensor part = at::linear(copy_to_tensor_group(x, tensor_group()), weight, bias);
  if (!options.gather_output) return part;
  return gather_from_tensor_group(part, {.dim = -1, .size = options.out_features, .blocks = options.blocks},
                                  tensor_group());
}

void ColumnLinearImpl::check_division(int64_t ranks) const {
  const int64_t each = options.out_features / options.blocks;
  if (options.blocks > 1 ? each % ranks == 0 : each >= ranks) return;
  throw UsageError("ColumnLinear: ", ranks, " ranks cannot divide ", each, " output features",
                   options.blocks > 1 ? " of each block evenly" : "",
                   "; choose another number of tensor-parallel ranks");
}

std::vector<DividedParameter> ColumnLinearImpl::divisible_parameters() const {
  const Partition rows = {.dim = 0, .size = options.out_features, .blocks = options.blocks};
  return {{.name = "weight", .parameter = weight, .partition = rows},
          {.name = "bias", .parameter = bias, .partition = rows}};
}

}  // namespace levin::parallel
