#pragma once
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/parallel/sharding/shard_unit.h>
#include <levin/modules/parallel/tensor/column_linear.h>
#include <levin/modules/parallel/tensor/row_linear.h>
#include <levin/modules/transformers/attention_mask.h>
#include <levin/modules/transformers/encoder_config.h>
#include <levin/modules/transformers/encoder_norm.h>
#include <levin/modules/transformers/rotary_embedding.h>

#include <cstdint>

namespace levin::nn {

/// One layer of ModernBERT, under its names: attention with rotary positions and a gated feed-forward network, each
/// behind a norm and beside a residual connection ("pre-norm"). The ranks of a tensor group divide the heads and the
/// units. Source: Warner et al. 2024, "Smarter, Better, Faster, Longer"; transformers 5.24, modeling_modernbert.py.
class RotaryBlock : public torch::nn::Module, public Checkpointable, public ShardUnit, public parallel::TensorParallel {
 public:
  /// The first layer has no norm before its attention.
  RotaryBlock(const EncoderConfig& config, bool is_first);

  /// Maps `x` [batch, time, hidden] to the same shape. Collective over the tensor group.
  at::Tensor forward(const at::Tensor& x, const AttentionMask& mask, const RotaryAngles& angles);
  /// Throws levin::UsageError if the ranks do not divide the heads.
  void check_division(int64_t ranks) const override;

 private:
  at::Tensor compute(const at::Tensor& x, const AttentionMask& mask, const RotaryAngles& angles);
  at::Tensor attended(const at::Tensor& x, const AttentionMask& mask, const RotaryAngles& angles);
  at::Tensor dropped_units(const at::Tensor& units) const;

  int64_t heads_, head_size_;
  Activation activation_;
  double attention_dropout_, output_dropout_;
  EncoderNorm attention_norm_{nullptr}, feed_norm_{nullptr};
  parallel::ColumnLinear query_key_value_{nullptr}, up_and_gate_{nullptr};
  parallel::RowLinear attention_output_{nullptr}, down_{nullptr};
};

}  // namespace levin::nn
