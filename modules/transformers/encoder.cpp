#include <levin/modules/transformers/encoder.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/tensor/tensor_collectives.h>
#include <levin/modules/transformers/check_tokens.h>
#include <levin/modules/transformers/register_path.h>
#include <torch/nn/modules/container/modulelist.h>

#include <cmath>
#include <limits>

namespace levin::nn {
namespace {

constexpr const char* kEncoderName = "model";

torch::nn::Embedding unset_table(int64_t rows, int64_t columns) {
  return torch::nn::Embedding(torch::nn::EmbeddingOptions(rows, columns)._weight(at::empty({rows, columns})));
}

torch::nn::Linear unset_linear(int64_t in, int64_t out) { return torch::nn::Linear(torch::nn::LinearOptions(in, out)); }

/// Returns the number of the kind of each distance between two tokens, [time, time]: exact ones up to a fourth of
/// `buckets`, then ranges that grow by a factor up to 128 tokens; forward and backward apart.
/// Source: Raffel et al. 2020, "Exploring the Limits of Transfer Learning", as MPNet has it.
at::Tensor distance_buckets(int64_t time, int64_t buckets, c10::Device device) {
  constexpr double kMostDistance = 128;
  const int64_t half = buckets / 2, exact = half / 2;
  const at::Tensor places = at::arange(time, at::TensorOptions().dtype(at::kLong).device(device));
  const at::Tensor distance = places.unsqueeze(0) - places.unsqueeze(1);
  const at::Tensor size = distance.abs();
  const at::Tensor logarithm = (size.to(at::kFloat) / static_cast<double>(exact)).log();
  const double scale = std::log(kMostDistance / static_cast<double>(exact));
  const at::Tensor far =
      (exact + (logarithm / scale * static_cast<double>(half - exact)).clamp_min(0).to(at::kLong)).clamp_max(half - 1);
  return distance.gt(0).to(at::kLong) * half + at::where(size.lt(exact), size, far);
}

}  // namespace

Encoder::Encoder(const EncoderConfig& config_) : torch::nn::Module("Encoder"), config(config_) {
  const EncoderNames& names = config.names;
  embedding = register_path(
      *this, names.words,
      parallel::VocabularyEmbedding(parallel::VocabularyEmbeddingOptions{.num_embeddings = config.vocabulary,
                                                                         .embedding_dim = config.embedding,
                                                                         .padding_idx = config.padding_token,
                                                                         .initialized = false}));
  if (config.rotary) {
    rotary_ = std::make_unique<RotaryLayers>(*this, config);
    return;
  }
  positions_ = register_path(*this, names.positions, unset_table(config.positions, config.embedding));
  if (config.token_types > 0)
    token_types_ = register_path(*this, names.token_types, unset_table(config.token_types, config.embedding));
  embedding_norm_ =
      register_path(*this, names.embedding_norm, DecoderNorm(NormKind::Layer, config.embedding, config.norm_eps));
  if (config.embedding != config.hidden)
    projection_ = register_path(*this, names.projection, unset_linear(config.embedding, config.hidden));
  torch::nn::ModuleList list = register_path(*this, names.layers, torch::nn::ModuleList());
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    blocks_.push_back(std::make_shared<EncoderBlock>(config));
    list->push_back(blocks_.back());
  }
  if (config.relative_buckets > 0)
    relative_positions_ =
        register_path(*this, names.relative_positions, unset_table(config.relative_buckets, config.heads));
}

void Encoder::check(const at::Tensor& tokens, const EncoderInputs& inputs) const {
  if (tokens.dim() != 2 || !is_whole_numbers(tokens))
    throw UsageError("model: expected token ids [batch, time] of int64, got ", tokens.sizes(), " of ",
                     tokens.scalar_type());
  const at::Tensor& mask = inputs.attention_mask;
  if (mask.defined() && mask.sizes() != tokens.sizes())
    throw UsageError("model: expected an attention_mask ", tokens.sizes(), ", got ", mask.sizes());
  const at::Tensor& types = inputs.token_type_ids;
  if (types.defined() && (types.sizes() != tokens.sizes() || !is_whole_numbers(types)))
    throw UsageError("model: expected token_type_ids ", tokens.sizes(), " of int64, got ", types.sizes(), " of ",
                     types.scalar_type());
  check_value_range(kEncoderName, tokens, config.vocabulary, "token id", "the vocabulary");
  if (types.defined() && config.token_types > 1)
    check_value_range(kEncoderName, types, config.token_types, "token type", "the table of types");
  if (tokens.size(1) > config.most_tokens())
    throw UsageError("model: a sequence of ", tokens.size(1), " tokens, and the model has ", config.most_tokens(),
                     " positions; set data.max_length");
}

at::Tensor Encoder::embedded(const at::Tensor& tokens, const EncoderInputs& inputs) {
  at::Tensor x = embedding->forward(tokens);
  if (token_types_) {
    const bool has_types = inputs.token_type_ids.defined() && config.token_types > 1;
    x = x + (has_types ? at::embedding(token_types_->weight, inputs.token_type_ids.to(tokens.device()))
                       : token_types_->weight.select(0, 0));
  }
  if (config.counts_after_padding) {
    const at::Tensor is_token = tokens.ne(config.padding_token).to(at::kLong);
    const at::Tensor places = is_token.cumsum(1) * is_token + config.padding_token;
    return x + at::embedding(positions_->weight, places, config.padding_token);
  }
  return x + positions_->weight.narrow(0, 0, tokens.size(1));
}

/// Excludes padding, and adds the table of distances.
AttentionMask Encoder::mask_of(const at::Tensor& x, const EncoderInputs& inputs) {
  at::Tensor allowed;
  if (inputs.attention_mask.defined()) allowed = inputs.attention_mask.to(x.device()).ne(0).unsqueeze(1).unsqueeze(1);
  if (!relative_positions_) return {.allowed = allowed};
  const at::Tensor buckets = distance_buckets(x.size(1), config.relative_buckets, x.device());
  const at::Tensor table = parallel::copy_to_tensor_group(relative_positions_->weight, embedding->tensor_group());
  const at::Tensor bias = at::embedding(table, buckets).permute({2, 0, 1}).unsqueeze(0).to(x.scalar_type());
  if (!allowed.defined()) return {.allowed = bias};
  return {.allowed = bias.masked_fill(allowed.logical_not(), -std::numeric_limits<double>::infinity())};
}

at::Tensor Encoder::forward(const at::Tensor& tokens, const EncoderInputs& inputs) {
  check(tokens, inputs);
  if (rotary_) return rotary_->forward(embedding->forward(tokens), inputs.attention_mask, is_training());
  at::Tensor x = embedding_norm_->forward(embedded(tokens, inputs));
  if (config.embedding_dropout > 0) x = at::dropout(x, config.embedding_dropout, is_training());
  if (projection_) x = projection_->forward(x);
  const AttentionMask mask = mask_of(x, inputs);
  for (const auto& block : blocks_) x = block->forward(x, mask);
  return x;
}

}  // namespace levin::nn
