#include <levin/modules/transformers/family_parts.h>
#include <levin/core/system/error.h>

#include <cmath>
#include <utility>

namespace levin::nn {
namespace {

constexpr int64_t kMostLayers = 10'000, kMostHeads = 1 << 16;

constexpr std::pair<const char*, Activation> kActivations[] = {{"silu", Activation::Silu},
                                                               {"swish", Activation::Silu},
                                                               {"gelu", Activation::Gelu},
                                                               {"gelu_python", Activation::Gelu},
                                                               {"gelu_new", Activation::GeluTanh},
                                                               {"gelu_pytorch_tanh", Activation::GeluTanh},
                                                               {"gelu_fast", Activation::GeluTanh},
                                                               {"gelu_python_tanh", Activation::GeluTanh},
                                                               {"gelu_accurate", Activation::GeluTanh},
                                                               {"relu", Activation::Relu}};

const DecoderParts& llama_parts() {
  static const DecoderParts parts = {
      .base = "model",
      .decoder = {{Role::Embedding, "embed_tokens"}, {Role::Layers, "layers"}, {Role::FinalNorm, "norm"}},
      .block = {{Role::Attention, "self_attn"},
                {Role::FeedForward, "mlp"},
                {Role::AttentionNorm, "input_layernorm"},
                {Role::FeedForwardNorm, "post_attention_layernorm"}},
      .attention = {{Role::Query, "q_proj"}, {Role::Key, "k_proj"}, {Role::Value, "v_proj"}, {Role::Output, "o_proj"}},
      .feed_forward = {{Role::Gate, "gate_proj"}, {Role::Up, "up_proj"}, {Role::Down, "down_proj"}}};
  return parts;
}

int64_t read_head_size(ConfigFields& fields, const DecoderConfig& config, const FamilyDefaults& defaults) {
  const std::optional<int64_t> given =
      defaults.has_head_size ? fields.optional_whole("head_dim", defaults.head_size) : std::nullopt;
  if (given) return *given;
  if (config.hidden % config.heads != 0)
    fields.fail("num_attention_heads", config.heads, " heads do not divide a hidden_size of ", config.hidden);
  return config.hidden / config.heads;
}

int64_t read_padding_token(ConfigFields& fields, int64_t vocabulary, const FamilyDefaults& defaults) {
  const std::optional<int64_t> token = fields.optional_whole("pad_token_id", defaults.padding_token, -vocabulary);
  if (!token) return -1;
  return *token < 0 ? *token + vocabulary : *token;  // as torch.nn.Embedding counts
}

}  // namespace

Activation read_activation(ConfigFields& fields, const std::string& name, const std::string& otherwise) {
  const std::string word = fields.word(name, otherwise);
  std::string known;
  for (const auto& [text, activation] : kActivations) {
    if (word == text) return activation;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  fields.fail(name, "levin does not compute ", word, "; it computes ", known);
}

DecoderConfig read_common(ConfigFields& fields, const FamilyDefaults& defaults) {
  DecoderConfig config = {.parts = llama_parts()};
  config.vocabulary = fields.whole("vocab_size");
  config.hidden = fields.whole("hidden_size");
  config.intermediate = fields.whole("intermediate_size");
  config.layers.resize(static_cast<size_t>(fields.whole("num_hidden_layers", {}, 1, kMostLayers)));
  config.heads = fields.whole("num_attention_heads", {}, 1, kMostHeads);
  config.key_value_heads =
      fields.optional_whole("num_key_value_heads", defaults.key_value_heads).value_or(config.heads);
  config.head_size = read_head_size(fields, config, defaults);
  config.activation = read_activation(fields, defaults.activation_field, defaults.activation);
  config.norm_eps = fields.number(defaults.norm_field, defaults.norm_eps);
  config.padding_token = read_padding_token(fields, config.vocabulary, defaults);
  config.tied_head = fields.flag("tie_word_embeddings", defaults.tied_head);
  config.attention_dropout = fields.number("attention_dropout", 0);
  fields.skip("max_position_embeddings");
  for (LayerConfig& layer : config.layers) layer.attention_scale = 1 / std::sqrt(static_cast<double>(config.head_size));
  return config;
}

void add_rope(DecoderConfig& config, ConfigFields& fields, const RopeDefaults& defaults,
              const std::vector<std::string>& ignored) {
  config.ropes = {read_rope(fields, config.head_size, defaults, ignored)};
  for (LayerConfig& layer : config.layers) layer.rope = 0;
}

void set_window(DecoderConfig& config, std::optional<int64_t> window) {
  for (LayerConfig& layer : config.layers) layer.window = window;
}

void set_windows(DecoderConfig& config, const ConfigFields& fields, const std::vector<std::string>& types,
                 std::optional<int64_t> window) {
  if (types.size() != config.layers.size())
    fields.fail("layer_types", "has ", types.size(), " words for ", config.layers.size(), " layers");
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == "full_attention") continue;
    if (types[i] != "sliding_attention")
      fields.fail("layer_types", "levin does not know ", types[i], "; it knows full_attention and sliding_attention");
    if (!window) fields.fail("sliding_window", "is missing, and layer ", i, " is sliding_attention");
    config.layers[i].window = window;
  }
}

}  // namespace levin::nn
