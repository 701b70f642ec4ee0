#include <levin/modules/transformers/rotary_layers.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/dropout.h>
#include <levin/modules/transformers/register_path.h>
#include <torch/nn/modules/container/modulelist.h>

namespace levin::nn {
namespace {

/// Excludes padding, and what is farther than `reach`. A token sees itself, so that no row is empty.
AttentionMask mask_of_reach(const at::Tensor& places, const at::Tensor& attention_mask, std::optional<int64_t> reach) {
  at::Tensor allowed;
  if (attention_mask.defined()) allowed = attention_mask.to(places.device()).ne(0).unsqueeze(1).unsqueeze(1);
  if (!reach) return {.allowed = allowed};
  const at::Tensor distance = (places.unsqueeze(0) - places.unsqueeze(1)).abs();
  const at::Tensor near = distance.le(*reach).unsqueeze(0).unsqueeze(0);
  return {.allowed = allowed.defined() ? near.logical_and(allowed.logical_or(distance.eq(0))) : near};
}

}  // namespace

RotaryLayers::RotaryLayers(torch::nn::Module& encoder, const EncoderConfig& config)
    : embedding_dropout_(config.embedding_dropout),
      full_{RotaryEmbedding(config.rotary->full), {}},
      local_{RotaryEmbedding(config.rotary->local), config.rotary->reach} {
  const RotaryLayersConfig& rotary = *config.rotary;
  const auto norm = [&] { return EncoderNorm(config.hidden, config.norm_eps, rotary.norm_bias); };
  embedding_norm_ = register_path(encoder, config.names.embedding_norm, norm());
  torch::nn::ModuleList list = register_path(encoder, config.names.layers, torch::nn::ModuleList());
  for (const bool is_local : rotary.is_local) {
    layers_.push_back({std::make_shared<RotaryBlock>(config, layers_.empty()), is_local});
    list->push_back(layers_.back().block);
  }
  last_norm_ = register_path(encoder, "final_norm", norm());
}

at::Tensor RotaryLayers::forward(const at::Tensor& embedded, const at::Tensor& attention_mask, bool is_training) {
  at::Tensor x = embedding_norm_->forward(embedded);
  if (embedding_dropout_ > 0) x = at::dropout(x, embedding_dropout_, is_training);
  const int64_t time = x.size(1);
  const at::Tensor places = at::arange(time, at::TensorOptions().dtype(at::kLong).device(x.device()));
  const auto angles_of = [&](Kind& kind) { return kind.rope.angles(places.unsqueeze(0), time, x.scalar_type()); };
  const RotaryAngles full = angles_of(full_), local = angles_of(local_);
  const AttentionMask all = mask_of_reach(places, attention_mask, full_.reach),
                      near = mask_of_reach(places, attention_mask, local_.reach);
  for (const Layer& layer : layers_)
    x = layer.block->forward(x, layer.is_local ? near : all, layer.is_local ? local : full);
  return last_norm_->forward(x);
}

}  // namespace levin::nn
