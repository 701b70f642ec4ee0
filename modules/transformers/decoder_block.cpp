#include <levin/modules/transformers/decoder_block.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/dropout.h>

namespace levin::nn {

DecoderBlock::DecoderBlock(const DecoderConfig& config, size_t layer)
    : torch::nn::Module("DecoderBlock"),
      parallel_residual_(config.parallel_residual),
      dropout_(config.residual_dropout),
      residual_scale_(config.residual_scale) {
  const auto add_norm = [&](const std::string& name) {
    return register_module(name, DecoderNorm(config.norm, config.hidden, config.norm_eps));
  };
  for (const auto& [role, name] : config.parts.block) {
    if (role == Role::Attention)
      attention_ = register_module(name, std::make_shared<DecoderAttention>(config, layer));
    else if (role == Role::FeedForward)
      feed_forward_ = register_module(name, std::make_shared<DecoderFeedForward>(config));
    else if (role == Role::AttentionNorm)
      attention_norm_ = add_norm(name);
    else if (role == Role::AttentionPostNorm)
      attention_post_norm_ = add_norm(name);
    else if (role == Role::FeedForwardNorm)
      feed_forward_norm_ = add_norm(name);
    else
      feed_forward_post_norm_ = add_norm(name);
  }
}

at::Tensor DecoderBlock::forward(const at::Tensor& x, const DecoderContext& context) {
  return checkpointed([this, context](const at::Tensor& input) { return compute(input, context); }, x);
}

at::Tensor DecoderBlock::addend(const at::Tensor& computed, DecoderNorm& post_norm) const {
  const at::Tensor dropped = dropout_ > 0 ? at::dropout(computed, dropout_, is_training()) : computed;
  const at::Tensor normed = post_norm ? post_norm->forward(dropped) : dropped;
  return residual_scale_ == 1 ? normed : normed * residual_scale_;
}

at::Tensor DecoderBlock::compute(const at::Tensor& x, const DecoderContext& context) {
  const at::Tensor normed = attention_norm_ ? attention_norm_->forward(x) : x;
  const at::Tensor attended = addend(attention_->forward(normed, context), attention_post_norm_);
  if (parallel_residual_) {
    const at::Tensor taken = feed_forward_norm_ ? feed_forward_norm_->forward(x) : normed;
    return x + attended + addend(feed_forward_->forward(taken), feed_forward_post_norm_);
  }
  const at::Tensor sum = x + attended;
  const at::Tensor taken = feed_forward_norm_ ? feed_forward_norm_->forward(sum) : sum;
  return sum + addend(feed_forward_->forward(taken), feed_forward_post_norm_);
}

}  // namespace levin::nn
