#include <levin/modules/transformers/encoder_block.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/dropout.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/system/error.h>
#include <levin/modules/transformers/attend.h>
#include <levin/modules/transformers/register_path.h>

#include <cmath>
#include <vector>

namespace levin::nn {
namespace {

parallel::ColumnLinear encoder_column(int64_t in, int64_t out) {
  return parallel::ColumnLinear(
      parallel::ColumnLinearOptions{.in_features = in, .out_features = out, .initialized = false});
}

parallel::RowLinear encoder_row(int64_t in, int64_t out) {
  return parallel::RowLinear(parallel::RowLinearOptions{.in_features = in, .out_features = out, .initialized = false});
}

}  // namespace

EncoderBlock::EncoderBlock(const EncoderConfig& config)
    : torch::nn::Module("EncoderBlock"),
      heads_(config.heads),
      head_size_(config.hidden / config.heads),
      activation_(config.activation),
      attention_dropout_(config.attention_dropout),
      attention_output_dropout_(config.attention_output_dropout),
      output_dropout_(config.output_dropout) {
  const EncoderNames& names = config.names;
  const int64_t hidden = config.hidden, units = config.intermediate;
  const auto norm = [&] { return DecoderNorm(NormKind::Layer, hidden, config.norm_eps); };
  query_ = register_path(*this, names.query, encoder_column(hidden, hidden));
  key_ = register_path(*this, names.key, encoder_column(hidden, hidden));
  value_ = register_path(*this, names.value, encoder_column(hidden, hidden));
  attention_output_ = register_path(*this, names.attention_output, encoder_row(hidden, hidden));
  attention_norm_ = register_path(*this, names.attention_norm, norm());
  up_ = register_path(*this, names.up, encoder_column(hidden, units));
  down_ = register_path(*this, names.down, encoder_row(units, hidden));
  output_norm_ = register_path(*this, names.output_norm, norm());
}

void EncoderBlock::check_division(int64_t ranks) const {
  if (heads_ % ranks != 0)
    throw UsageError("model: ", ranks, " tensor-parallel ranks do not divide ", heads_,
                     " attention heads; set trainer.mesh.tensor to a number that does");
}

at::Tensor EncoderBlock::attended(const at::Tensor& x, const AttentionMask& mask) {
  const auto heads_of = [this](const at::Tensor& features) {
    return features.unflatten(-1, {-1, head_size_}).transpose(1, 2);
  };
  const at::Tensor queries = heads_of(query_->forward(x));
  AttentionMask own = mask;
  const int64_t count = queries.size(1);
  if (is_divided() && mask.allowed.defined() && mask.allowed.size(1) == heads_)
    own.allowed = mask.allowed.narrow(1, tensor_group()->rank() * count, count);
  const at::Tensor result = attend(queries, heads_of(key_->forward(x)), heads_of(value_->forward(x)), own,
                                   {.scale = 1 / std::sqrt(static_cast<double>(head_size_)),
                                    .dropout = is_training() ? attention_dropout_ : 0.0,
                                    .group = tensor_group()});
  return attention_output_->forward(result.transpose(1, 2).flatten(2));
}

at::Tensor EncoderBlock::forward(const at::Tensor& x, const AttentionMask& mask) {
  if (!checkpoint_activations || !mask.allowed.defined() || !mask.allowed.requires_grad())
    return checkpointed([this, mask](const at::Tensor& input) { return compute(input, mask); }, x);
  // A table of distances gets a gradient, so that it is an input too.
  const auto recompute = [this](const std::vector<at::Tensor>& inputs) {
    return std::vector<at::Tensor>{compute(inputs[0], {.allowed = inputs[1]})};
  };
  return checkpoint(recompute, {x, mask.allowed})[0];
}

at::Tensor EncoderBlock::compute(const at::Tensor& x, const AttentionMask& mask) {
  const auto dropped = [this](const at::Tensor& value, double rate) {
    return rate > 0 ? at::dropout(value, rate, is_training()) : value;
  };
  const at::Tensor mixed = attention_norm_->forward(x + dropped(attended(x, mask), attention_output_dropout_));
  const at::Tensor fed = down_->forward(activated(up_->forward(mixed), activation_));
  return output_norm_->forward(mixed + dropped(fed, output_dropout_));
}

}  // namespace levin::nn
