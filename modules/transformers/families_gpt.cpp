/// Families with LayerNorm and biases.
#include <levin/modules/transformers/families.h>
#include <levin/modules/transformers/family_parts.h>

#include <cmath>

namespace levin::nn {
namespace {

/// A feed-forward network without a gate.
Parts two_layers(const char* up, const char* down) { return {{Role::Up, up}, {Role::Down, down}}; }

}  // namespace

DecoderConfig read_gpt2(ConfigFields& fields, const std::vector<std::string>& /*ignored*/) {
  DecoderConfig config;
  config.parts = {
      .base = "transformer",
      .decoder = {{Role::Embedding, "wte"}, {Role::Positions, "wpe"}, {Role::Layers, "h"}, {Role::FinalNorm, "ln_f"}},
      .block = {{Role::AttentionNorm, "ln_1"},
                {Role::Attention, "attn"},
                {Role::FeedForwardNorm, "ln_2"},
                {Role::FeedForward, "mlp"}},
      .attention = {{Role::QueryKeyValue, "c_attn"}, {Role::Output, "c_proj"}},
      .feed_forward = two_layers("c_fc", "c_proj")};
  config.vocabulary = fields.whole("vocab_size", 50257);
  config.learned_positions = fields.whole("n_positions", 1024);
  config.hidden = fields.whole("n_embd", 768);
  config.layers.resize(static_cast<size_t>(fields.whole("n_layer", 12, 1, 10'000)));
  config.heads = config.key_value_heads = fields.whole("n_head", 12);
  if (config.hidden % config.heads != 0)
    fields.fail("n_head", config.heads, " heads do not divide an n_embd of ", config.hidden);
  config.head_size = config.hidden / config.heads;
  config.intermediate = fields.whole("n_inner", 4 * config.hidden, 1, int64_t{1} << 33);
  config.activation = read_activation(fields, "activation_function", "gelu_new");
  config.norm = NormKind::Layer;
  config.norm_eps = fields.number("layer_norm_epsilon", 1e-5);
  config.query_key_value_bias = config.output_bias = config.feed_forward_bias = true;
  config.tied_head = fields.flag("tie_word_embeddings", true);
  config.transposed_weights = true;
  config.attention_dropout = fields.number("attn_pdrop", 0.1);
  config.residual_dropout = fields.number("resid_pdrop", 0.1);
  config.embedding_dropout = fields.number("embd_pdrop", 0.1);
  const bool scaled = fields.flag("scale_attn_weights", true);
  const bool by_layer = fields.flag("scale_attn_by_inverse_layer_idx", false);
  for (size_t i = 0; i < config.layers.size(); ++i)
    config.layers[i].attention_scale = (scaled ? 1 / std::sqrt(static_cast<double>(config.head_size)) : 1.0) /
                                       (by_layer ? static_cast<double>(i + 1) : 1.0);
  fields.skip(
      "n_ctx reorder_and_upcast_attn pad_token_id summary_type summary_use_proj summary_activation "
      "summary_proj_to_labels summary_first_dropout");
  return config;
}

DecoderConfig read_gpt_neox(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = read_common(
      fields, {.activation = "gelu", .norm_field = "layer_norm_eps", .norm_eps = 1e-5, .has_head_size = false});
  config.key_value_heads = config.heads;
  config.parts = {
      .base = "gpt_neox",
      .decoder = {{Role::Embedding, "embed_in"}, {Role::Layers, "layers"}, {Role::FinalNorm, "final_layer_norm"}},
      .block = {{Role::AttentionNorm, "input_layernorm"},
                {Role::FeedForwardNorm, "post_attention_layernorm"},
                {Role::Attention, "attention"},
                {Role::FeedForward, "mlp"}},
      .attention = {{Role::QueryKeyValue, "query_key_value"}, {Role::Output, "dense"}},
      .feed_forward = two_layers("dense_h_to_4h", "dense_4h_to_h"),
      .head = "embed_out"};
  config.fused_order = FusedOrder::Heads;
  config.norm = NormKind::Layer;
  config.padding_token = -1;
  config.query_key_value_bias = config.output_bias = fields.flag("attention_bias", true);
  config.feed_forward_bias = true;
  config.parallel_residual = fields.flag("use_parallel_residual", true);
  config.residual_dropout = config.embedding_dropout = fields.number("hidden_dropout", 0);
  add_rope(config, fields,
           {.theta = fields.number("rotary_emb_base", 10000),
            .partial = fields.number("rotary_pct", 0.25),
            .takes_partial = true},
           ignored);
  return config;
}

DecoderConfig read_phi(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config =
      read_common(fields, {.activation = "gelu_new", .norm_field = "layer_norm_eps", .norm_eps = 1e-5});
  config.parts.decoder = {
      {Role::Embedding, "embed_tokens"}, {Role::Layers, "layers"}, {Role::FinalNorm, "final_layernorm"}};
  config.parts.block = {
      {Role::Attention, "self_attn"}, {Role::FeedForward, "mlp"}, {Role::AttentionNorm, "input_layernorm"}};
  config.parts.attention.back().name = "dense";
  config.parts.feed_forward = two_layers("fc1", "fc2");
  if (fields.flag("qk_layernorm", false)) {
    config.query_key_norm = QueryKeyNorm::Head;
    config.parts.attention.push_back({Role::QueryNorm, "q_layernorm"});
    config.parts.attention.push_back({Role::KeyNorm, "k_layernorm"});
  }
  config.norm = NormKind::Layer;
  config.query_key_value_bias = config.output_bias = config.feed_forward_bias = config.head_bias = true;
  config.parallel_residual = true;
  config.residual_dropout = fields.number("resid_pdrop", 0);
  config.embedding_dropout = fields.number("embd_pdrop", 0);
  add_rope(config, fields, {.partial = 0.5, .takes_partial = true}, ignored);
  return config;
}

DecoderConfig read_stablelm(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = read_common(
      fields, {.norm_field = "layer_norm_eps", .norm_eps = 1e-5, .key_value_heads = 32, .has_head_size = false});
  config.norm = NormKind::Layer;
  config.query_key_value_bias = fields.flag("use_qkv_bias", false);
  config.parallel_residual = fields.flag("use_parallel_residual", false);
  if (config.parallel_residual) config.parts.block.pop_back();  // the norm of the feed-forward network
  fields.require("qk_layernorm", false);
  fields.require("hidden_dropout", 0);
  add_rope(config, fields, {.partial = 0.25, .takes_partial = true}, ignored);
  return config;
}

DecoderConfig read_starcoder2(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = read_common(fields, {.activation = "gelu_pytorch_tanh",
                                              .norm_field = "norm_epsilon",
                                              .norm_eps = 1e-5,
                                              .key_value_heads = 2,
                                              .tied_head = true});
  config.parts.feed_forward = two_layers("c_fc", "c_proj");
  config.norm = NormKind::Layer;
  config.query_key_value_bias = config.output_bias = config.feed_forward_bias = fields.flag("use_bias", true);
  config.residual_dropout = fields.number("residual_dropout", 0);
  config.embedding_dropout = fields.number("embedding_dropout", 0);
  add_rope(config, fields, {}, ignored);
  set_window(config, fields.optional_whole("sliding_window"));
  return config;
}

}  // namespace levin::nn
