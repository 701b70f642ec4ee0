#include <levin/modules/transformers/rotary_block.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/dropout.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/tensor/dropout_of_part.h>
#include <levin/modules/transformers/attend.h>
#include <levin/modules/transformers/register_path.h>

#include <cmath>
#include <vector>

namespace levin::nn {

RotaryBlock::RotaryBlock(const EncoderConfig& config, bool is_first)
    : torch::nn::Module("RotaryBlock"),
      heads_(config.heads),
      head_size_(config.hidden / config.heads),
      activation_(config.activation),
      attention_dropout_(config.attention_dropout),
      output_dropout_(config.output_dropout) {
  const RotaryLayersConfig& rotary = *config.rotary;
  const int64_t hidden = config.hidden, units = config.intermediate;
  const auto norm = [&] { return EncoderNorm(hidden, config.norm_eps, rotary.norm_bias); };
  const auto column = [&](int64_t out, bool bias, int64_t blocks) {
    return parallel::ColumnLinear(parallel::ColumnLinearOptions{
        .in_features = hidden, .out_features = out, .bias = bias, .blocks = blocks, .initialized = false});
  };
  const auto row = [&](int64_t in, bool bias) {
    return parallel::RowLinear(
        parallel::RowLinearOptions{.in_features = in, .out_features = hidden, .bias = bias, .initialized = false});
  };
  if (!is_first) attention_norm_ = register_path(*this, "attn_norm", norm());
  query_key_value_ = register_path(*this, "attn.Wqkv", column(3 * hidden, rotary.attention_bias, 3));
  attention_output_ = register_path(*this, "attn.Wo", row(hidden, rotary.attention_bias));
  feed_norm_ = register_path(*this, "mlp_norm", norm());
  up_and_gate_ = register_path(*this, "mlp.Wi", column(2 * units, rotary.feed_forward_bias, 2));
  down_ = register_path(*this, "mlp.Wo", row(units, rotary.feed_forward_bias));
}

void RotaryBlock::check_division(int64_t ranks) const {
  if (heads_ % ranks != 0)
    throw UsageError("model: ", ranks, " tensor-parallel ranks do not divide ", heads_,
                     " attention heads; set trainer.mesh.tensor to a number that does");
}

at::Tensor RotaryBlock::attended(const at::Tensor& x, const AttentionMask& mask, const RotaryAngles& angles) {
  const std::vector<at::Tensor> parts =
      query_key_value_->forward(x).unflatten(-1, {3, -1, head_size_}).transpose(1, 3).unbind(2);
  const at::Tensor result = attend(rotated_by(parts[0], angles), rotated_by(parts[1], angles), parts[2], mask,
                                   {.scale = 1 / std::sqrt(static_cast<double>(head_size_)),
                                    .dropout = is_training() ? attention_dropout_ : 0.0,
                                    .group = tensor_group()});
  return attention_output_->forward(result.transpose(1, 2).flatten(2));
}

at::Tensor RotaryBlock::dropped_units(const at::Tensor& units) const {
  if (output_dropout_ <= 0 || !is_training()) return units;
  return tensor_group() != nullptr ? parallel::dropout_of_part(units, -1, output_dropout_, tensor_group())
                                   : at::dropout(units, output_dropout_, /*train=*/true);
}

at::Tensor RotaryBlock::forward(const at::Tensor& x, const AttentionMask& mask, const RotaryAngles& angles) {
  return checkpointed([this, mask, angles](const at::Tensor& input) { return compute(input, mask, angles); }, x);
}

at::Tensor RotaryBlock::compute(const at::Tensor& x, const AttentionMask& mask, const RotaryAngles& angles) {
  const auto dropped = [this](const at::Tensor& value, double rate) {
    return rate > 0 ? at::dropout(value, rate, is_training()) : value;
  };
  const at::Tensor normed = attention_norm_ ? attention_norm_->forward(x) : x;
  const at::Tensor mixed = x + dropped(attended(normed, mask, angles), attention_dropout_);
  const std::vector<at::Tensor> parts = up_and_gate_->forward(feed_norm_->forward(mixed)).chunk(2, -1);
  return mixed + down_->forward(dropped_units(activated(parts[0], activation_) * parts[1]));
}

}  // namespace levin::nn
