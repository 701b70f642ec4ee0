#pragma once
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/parallel/sharding/shard_unit.h>
#include <levin/modules/transformers/decoder_attention.h>
#include <levin/modules/transformers/decoder_feed_forward.h>

#include <cstddef>
#include <memory>

namespace levin::nn {

/// One layer of a decoder: attention and a feed-forward network with norms and residual connections, in the family's
/// parts and names.
class DecoderBlock : public torch::nn::Module, public Checkpointable, public ShardUnit {
 public:
  DecoderBlock(const DecoderConfig& config, size_t layer);
  /// Maps `x` [batch, time, hidden] to the same shape. Collective over the tensor group.
  at::Tensor forward(const at::Tensor& x, const DecoderContext& context);

 private:
  at::Tensor compute(const at::Tensor& x, const DecoderContext& context);
  /// What a part has computed, as it is added to x.
  at::Tensor addend(const at::Tensor& computed, DecoderNorm& post_norm) const;

  bool parallel_residual_;
  double dropout_, residual_scale_;
  std::shared_ptr<DecoderAttention> attention_ = {};
  std::shared_ptr<DecoderFeedForward> feed_forward_ = {};
  DecoderNorm attention_norm_{nullptr}, attention_post_norm_{nullptr};
  DecoderNorm feed_forward_norm_{nullptr}, feed_forward_post_norm_{nullptr};
};

}  // namespace levin::nn
