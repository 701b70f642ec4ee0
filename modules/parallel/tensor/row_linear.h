#pragma once
#include <levin/modules/parallel/tensor/tensor_parallel.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

namespace levin::parallel {

struct RowLinearOptions {
  int64_t in_features = 1, out_features = 1;
  bool bias = true;
  /// Each rank is given its part of the input features, such as the output of a ColumnLinear; otherwise the whole
  /// input, of which it takes its part.
  bool input_is_divided = true;
  /// False: the values stay undefined until they are loaded, which spares the time to draw them.
  bool initialized = true;
};

/// torch::nn::Linear whose input features are divided among the ranks of a tensor group: "row-parallel", as the rows of
/// the matrix in x W + b are divided. Without a group it is a whole linear layer.
///
/// `weight` is [out_features, in_features / ranks] on each rank; the first ranks have one feature more if the ranks do
/// not divide them. `bias` [out_features] is whole on all ranks, added once, after the sum over the ranks. The initial
/// values are the parts of those that torch::nn::Linear draws.
class RowLinearImpl : public torch::nn::Module, public TensorParallel {
 public:
  using Options = RowLinearOptions;

  /// With a group, the whole layer is only there until this rank has its part; then all ranks of the group call the
  /// constructor. Throws levin::UsageError as check_division.
  explicit RowLinearImpl(const RowLinearOptions& options, const TensorGroup& group = nullptr);

  /// Maps this rank's part `x` [..., in_features / ranks] of the input to the whole output [..., out_features], the
  /// same bits on all ranks. Collective: all ranks of the group call it.
  at::Tensor forward(const at::Tensor& x);
  /// Throws levin::UsageError if there are more ranks than input features.
  void check_division(int64_t ranks) const override;

  RowLinearOptions options;
  at::Tensor weight = {}, bias = {};

 protected:
  std::vector<DividedParameter> divisible_parameters() const override;
};
TORCH_MODULE(RowLinear);

}  // namespace levin::parallel
