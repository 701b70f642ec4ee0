#pragma once
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/parallel/sharding/shard_unit.h>
#include <levin/modules/parallel/tensor/column_linear.h>
#include <levin/modules/parallel/tensor/row_linear.h>
#include <levin/modules/transformers/attention_mask.h>
#include <levin/modules/transformers/decoder_norm.h>
#include <levin/modules/transformers/encoder_config.h>

namespace levin::nn {

/// One layer of an encoder, in the family's parts and names: attention of all tokens to all, and a feed-forward
/// network, each followed by a residual connection and a norm ("post-norm"). The ranks of a tensor group divide the
/// heads and the units.
class EncoderBlock : public torch::nn::Module,
                     public Checkpointable,
                     public ShardUnit,
                     public parallel::TensorParallel {
 public:
  explicit EncoderBlock(const EncoderConfig& config);

  /// Maps `x` [batch, time, hidden] to the same shape. Collective over the tensor group.
  at::Tensor forward(const at::Tensor& x, const AttentionMask& mask);
  /// Throws levin::UsageError if the ranks do not divide the heads.
  void check_division(int64_t ranks) const override;

 private:
  at::Tensor compute(const at::Tensor& x, const AttentionMask& mask);
  at::Tensor attended(const at::Tensor& x, const AttentionMask& mask);

  int64_t heads_, head_size_;
  Activation activation_;
  double attention_dropout_, attention_output_dropout_, output_dropout_;
  parallel::ColumnLinear query_{nullptr}, key_{nullptr}, value_{nullptr}, up_{nullptr};
  parallel::RowLinear attention_output_{nullptr}, down_{nullptr};
  DecoderNorm attention_norm_{nullptr}, output_norm_{nullptr};
};

}  // namespace levin::nn
