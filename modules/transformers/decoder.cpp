#include <levin/modules/transformers/decoder.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>
#include <levin/modules/transformers/check_tokens.h>
#include <torch/nn/modules/container/modulelist.h>

#include <algorithm>

namespace levin::nn {
namespace {

/// Rounds the scale as the weights are rounded, which is how the models were trained.
double scale_in(double scale, at::ScalarType dtype) {
  if (dtype == at::kBFloat16) return static_cast<double>(static_cast<float>(c10::BFloat16(static_cast<float>(scale))));
  if (dtype == at::kHalf) return static_cast<double>(static_cast<float>(c10::Half(static_cast<float>(scale))));
  return scale;
}

}  // namespace

Decoder::Decoder(const DecoderConfig& config_) : torch::nn::Module("Decoder"), config(config_) {
  for (const auto& [role, name] : config.parts.decoder) {
    if (role == Role::Embedding) {
      embedding = register_module(
          name, parallel::VocabularyEmbedding(parallel::VocabularyEmbeddingOptions{.num_embeddings = config.vocabulary,
                                                                                   .embedding_dim = config.hidden,
                                                                                   .padding_idx = config.padding_token,
                                                                                   .initialized = false}));
    } else if (role == Role::Positions) {
      const at::Tensor rows = at::empty({config.learned_positions, config.hidden});
      positions_ = register_module(
          name, torch::nn::Embedding(torch::nn::EmbeddingOptions(rows.size(0), rows.size(1))._weight(rows)));
    } else if (role == Role::FinalNorm) {
      final_norm_ = register_module(name, DecoderNorm(config.norm, config.hidden, config.norm_eps));
    } else {
      const auto list = register_module(name, torch::nn::ModuleList());
      for (size_t layer = 0; layer < config.layers.size(); ++layer) {
        blocks_.push_back(std::make_shared<DecoderBlock>(config, layer));
        list->push_back(blocks_.back());
      }
    }
  }
  for (const RopeConfig& rope : config.ropes) ropes_.emplace_back(rope);
}

void Decoder::check(const at::Tensor& tokens, const DecoderInputs& inputs) const {
  const bool are_pairs = tokens.dim() == 3 && tokens.size(1) == 2 && is_whole_numbers(tokens);
  if (tokens.dim() != 2 || !is_whole_numbers(tokens))
    throw UsageError("CausalLM: expected token ids [batch, time] of int64, got ", tokens.sizes(), " of ",
                     tokens.scalar_type(),
                     are_pairs ? "; pairs of completions (TextPreferences) are what the objective DPO compares in fit, "
                                 "validate and test (model.objective.class); for all else take data of single texts, "
                                 "TextJsonl, or `levin generate`"
                               : "");
  const int64_t batch = tokens.size(0), time = tokens.size(1), past = inputs.cache ? inputs.cache->length() : 0;
  const at::Tensor& mask = inputs.attention_mask;
  if (mask.defined() && (mask.dim() != 2 || mask.size(0) != batch || mask.size(1) != past + time))
    throw UsageError("CausalLM: expected an attention_mask [", batch, ", ", past + time, "], got ", mask.sizes());
  const at::Tensor& positions = inputs.position_ids;
  if (positions.defined() && (positions.dim() != 2 || !is_whole_numbers(positions) || positions.size(1) != time ||
                              (positions.size(0) != batch && positions.size(0) != 1)))
    throw UsageError("CausalLM: expected position_ids [", batch, ", ", time, "] of int64, got ", positions.sizes(),
                     " of ", positions.scalar_type());
  check_value_range("CausalLM", tokens, config.vocabulary, "token id", "the vocabulary");
  if (!positions_) return;
  if (!positions.defined() && past + time > config.learned_positions)
    throw UsageError("CausalLM: a sequence of ", past + time, " tokens, and the model has ", config.learned_positions,
                     " positions; shorten the sequences");
  if (positions.defined())
    check_value_range("CausalLM", positions, config.learned_positions, "position", "the table of positions");
}

at::Tensor Decoder::embedded(const at::Tensor& tokens, const at::Tensor& positions) {
  at::Tensor x = embedding->forward(tokens);
  if (config.embedding_scale != 1) x = x * scale_in(config.embedding_scale, embedding->weight.scalar_type());
  if (positions_) x = x + at::embedding(positions_->weight, positions);
  return config.embedding_dropout > 0 ? at::dropout(x, config.embedding_dropout, is_training()) : x;
}

DecoderContext Decoder::context_of(const at::Tensor& positions, const DecoderInputs& inputs, const at::Tensor& x) {
  DecoderContext context = {.cache = inputs.cache};
  const int64_t past = inputs.cache ? inputs.cache->length() : 0, time = x.size(1);
  const bool asks_length =
      inputs.position_ids.defined() && time > 0 &&
      std::ranges::any_of(config.ropes, [](const RopeConfig& rope) { return depends_on_length(rope); });
  const int64_t length = asks_length ? positions.max().item<int64_t>() + 1 : past + time;  // host sync
  for (RotaryEmbedding& rope : ropes_) context.angles.push_back(rope.angles(positions, length, x.scalar_type()));
  MaskedTokens tokens = {.past = past, .time = time, .device = x.device()};
  if (inputs.attention_mask.defined())
    tokens.attention_mask = inputs.attention_mask.to(x.device());
  else if (inputs.position_ids.defined() && inputs.cache == nullptr && time > 0)
    tokens.packed_positions = positions;
  for (const LayerConfig& layer : config.layers) {
    const int64_t window = layer.window.value_or(0);
    if (!context.masks.contains(window)) context.masks[window] = make_attention_mask(tokens, layer.window);
  }
  return context;
}

at::Tensor Decoder::forward(const at::Tensor& tokens, const DecoderInputs& inputs) {
  check(tokens, inputs);
  const int64_t past = inputs.cache ? inputs.cache->length() : 0, time = tokens.size(1);
  const at::Tensor positions =
      inputs.position_ids.defined()
          ? inputs.position_ids.to(tokens.device(), at::kLong)
          : at::arange(past, past + time, at::TensorOptions().dtype(at::kLong).device(tokens.device())).unsqueeze(0);
  at::Tensor x = embedded(tokens, positions);
  const DecoderContext context = context_of(positions, inputs, x);
  for (const auto& block : blocks_) x = block->forward(x, context);
  if (inputs.cache != nullptr) inputs.cache->advance(time);
  return final_norm_->forward(x);
}

}  // namespace levin::nn
