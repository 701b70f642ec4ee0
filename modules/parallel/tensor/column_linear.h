#pragma once
#include <levin/modules/parallel/tensor/tensor_parallel.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <vector>

namespace levin::parallel {

struct ColumnLinearOptions {
  int64_t in_features = 1, out_features = 1;
  bool bias = true;
  /// The number of layers of equal size whose output features follow each other in this one (3: queries, keys and
  /// values). Each of them is divided among the ranks, evenly.
  int64_t blocks = 1;
  /// Each rank gets the whole output; otherwise its part of the output features.
  bool gather_output = false;
  /// False: the values stay undefined until they are loaded, which spares the time to draw them.
  bool initialized = true;
};

/// torch::nn::Linear whose output features are divided among the ranks of a tensor group: "column-parallel", as the
/// columns of the matrix in x W + b are divided. Without a group it is a whole linear layer.
///
/// `weight` is [out_features / ranks, in_features] on each rank, `bias` [out_features / ranks]; the first ranks have
/// one feature more if the ranks do not divide them. The initial values are the parts of those that torch::nn::Linear
/// draws.
class ColumnLinearImpl : public torch::nn::Module, public TensorParallel {
 public:
  using Options = ColumnLinearOptions;

  /// With a group, the whole layer is only there until this rank has its part; then all ranks of the group call the
  /// constructor. Throws levin::UsageError if blocks do not divide the output features, or as check_division.
  explicit ColumnLinearImpl(const ColumnLinearOptions& options, const TensorGroup& group = nullptr);

  /// Maps `x` [..., in_features], the same on all ranks, to this rank's part [..., out_features / ranks] of the output,
  /// or with `gather_output` to all of it. Collective in backward, and with `gather_output`: all ranks of the group
  /// call it.
  at::Tensor forward(const at::Tensor& x);
  /// Throws levin::UsageError if the ranks do not divide each of several blocks, or if there are more ranks than
  /// features.
  void check_division(int64_t ranks) const override;

  ColumnLinearOptions options;
  at::Tensor weight = {}, bias = {};

 protected:
  std::vector<DividedParameter> divisible_parameters() const override;
};
TORCH_MODULE(ColumnLinear);

}  // namespace levin::parallel
