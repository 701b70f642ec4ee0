#include <levin/modules/transformers/decoder_attention.h>
#include <ATen/TensorOperators.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/system/error.h>
#include <levin/modules/transformers/attend.h>

#include <vector>

namespace levin::nn {
namespace {

parallel::ColumnLinear column_of(const DecoderConfig& config, int64_t features, int64_t blocks = 1) {
  return parallel::ColumnLinear(parallel::ColumnLinearOptions{.in_features = config.hidden,
                                                              .out_features = features,
                                                              .bias = config.query_key_value_bias,
                                                              .blocks = blocks,
                                                              .initialized = false});
}

}  // namespace

DecoderAttention::DecoderAttention(const DecoderConfig& config, size_t layer)
    : torch::nn::Module("DecoderAttention"),
      family_(config.family),
      layer_(layer),
      own_(config.layers[layer]),
      heads_(config.heads),
      key_value_heads_(config.key_value_heads),
      head_size_(config.head_size),
      norm_kind_(config.query_key_norm),
      fused_order_(config.fused_order),
      softcap_(config.attention_softcap),
      dropout_(config.attention_dropout) {
  register_parts(config);
}

void DecoderAttention::register_parts(const DecoderConfig& config) {
  const int64_t of_queries = heads_ * head_size_, of_keys = key_value_heads_ * head_size_;
  const bool is_whole = norm_kind_ == QueryKeyNorm::Projection;
  const auto norm = [&](int64_t projection) {
    return DecoderNorm(config.norm, is_whole ? projection : head_size_, config.norm_eps);
  };
  for (const auto& [role, name] : config.parts.attention) {
    switch (role) {
      case Role::Query:
        query_ = register_module(name, column_of(config, of_queries));
        break;
      case Role::Key:
        key_ = register_module(name, column_of(config, of_keys));
        break;
      case Role::Value:
        value_ = register_module(name, column_of(config, of_keys));
        break;
      case Role::QueryKeyValue: {
        const bool is_in_blocks = fused_order_ == FusedOrder::Blocks && of_keys == of_queries;
        fused_ = register_module(name, column_of(config, of_queries + 2 * of_keys, is_in_blocks ? 3 : 1));
        break;
      }
      case Role::Output:
        output_ = register_module(name, parallel::RowLinear(parallel::RowLinearOptions{.in_features = of_queries,
                                                                                       .out_features = config.hidden,
                                                                                       .bias = config.output_bias,
                                                                                       .initialized = false}));
        break;
      case Role::QueryNorm:
        query_norm_ = register_module(name, norm(of_queries));
        break;
      default:
        key_norm_ = register_module(name, norm(of_keys));
        break;
    }
  }
}

void DecoderAttention::check_division(int64_t ranks) const {
  if (heads_ % ranks != 0 || key_value_heads_ % ranks != 0)
    throw UsageError("CausalLM: ", ranks, " tensor-parallel ranks do not divide ", heads_, " attention heads and ",
                     key_value_heads_,
                     " heads of keys and values; set trainer.mesh.tensor to a number that divides both");
  const bool is_uneven = fused_ && fused_order_ == FusedOrder::Blocks && key_value_heads_ != heads_;
  if (ranks > 1 && (is_uneven || norm_kind_ == QueryKeyNorm::Projection))
    throw UsageError("CausalLM: the attention of ", family_,
                     is_uneven ? " with fewer heads of keys than of queries" : ", which normalizes all heads together,",
                     " cannot be divided among ranks; set trainer.mesh.tensor to 1");
}

int64_t DecoderAttention::ranks() const { return is_divided() ? tensor_group()->world_size() : 1; }

at::Tensor DecoderAttention::heads_of(const at::Tensor& features) const {
  return features.unflatten(-1, {-1, head_size_});
}

/// Returns queries, keys and values [batch, time, own heads, head size] of a fused layer.
DecoderAttention::Three DecoderAttention::split_fused(const at::Tensor& fused) const {
  const int64_t own = heads_ / ranks(), of_keys = key_value_heads_ / ranks();
  if (fused_order_ == FusedOrder::Blocks) {
    const std::vector<at::Tensor> parts = heads_of(fused).split_with_sizes({own, of_keys, of_keys}, -2);
    return {parts[0], parts[1], parts[2]};
  }
  const std::vector<at::Tensor> parts = fused.unflatten(-1, {own, 3, head_size_}).unbind(-2);
  return {parts[0], parts[1], parts[2]};
}

DecoderAttention::Three DecoderAttention::project(const at::Tensor& x) {
  Three each;
  if (fused_) {
    each = split_fused(fused_->forward(x));
  } else if (norm_kind_ == QueryKeyNorm::Projection) {
    each = {heads_of(query_norm_->forward(query_->forward(x))), heads_of(key_norm_->forward(key_->forward(x))),
            heads_of(value_->forward(x))};
  } else {
    each = {heads_of(query_->forward(x)), heads_of(key_->forward(x)), heads_of(value_->forward(x))};
  }
  if (norm_kind_ == QueryKeyNorm::Head) {
    each[0] = query_norm_->forward(each[0], tensor_group());
    each[1] = key_norm_->forward(each[1], tensor_group());
  }
  for (at::Tensor& one : each) one = one.transpose(1, 2);
  return each;
}

at::Tensor DecoderAttention::forward(const at::Tensor& x, const DecoderContext& context) {
  Three each = project(x);
  if (own_.rope) {
    const RotaryAngles& angles = context.angles[*own_.rope];
    each[0] = rotated_by(each[0], angles);
    each[1] = rotated_by(each[1], angles);
  }
  if (context.cache != nullptr) {
    const KeyValueCache::KeysValues all = context.cache->append(layer_, {.keys = each[1], .values = each[2]});
    each[1] = all.keys;
    each[2] = all.values;
  }
  const at::Tensor attended = attend(each[0], each[1], each[2], context.masks.at(own_.window.value_or(0)),
                                     {.scale = own_.attention_scale,
                                      .dropout = is_training() ? dropout_ : 0.0,
                                      .softcap = softcap_,
                                      .group = tensor_group()});
  return output_->forward(attended.transpose(1, 2).flatten(2));
}

}  // namespace levin::nn
