#pragma once
#include <levin/modules/parallel/tensor/column_linear.h>
#include <levin/modules/parallel/tensor/row_linear.h>
#include <levin/modules/transformers/decoder_config.h>
#include <torch/nn/module.h>

namespace levin::nn {

/// The feed-forward network of one layer of a decoder, in the family's parts and names: down(act(up(x))), or with a
/// gate down(act(gate(x)) * up(x)). The ranks of a tensor group divide its units.
class DecoderFeedForward : public torch::nn::Module {
 public:
  explicit DecoderFeedForward(const DecoderConfig& config);
  /// Maps `x` [..., hidden] to the same shape. Collective over the tensor group.
  at::Tensor forward(const at::Tensor& x);

 private:
  Activation activation_;
  parallel::ColumnLinear gate_{nullptr}, up_{nullptr}, gate_up_{nullptr};
  parallel::RowLinear down_{nullptr};
};

}  // namespace levin::nn
