/// Families whose block is Llama's, with a few parts more or less.
#include <levin/modules/transformers/families.h>
#include <levin/modules/transformers/family_parts.h>

namespace levin::nn {
namespace {

void read_attention_bias(DecoderConfig& config, ConfigFields& fields) {
  config.query_key_value_bias = config.output_bias = fields.flag("attention_bias", false);
}

void add_query_key_norms(DecoderConfig& config, QueryKeyNorm kind) {
  config.query_key_norm = kind;
  config.parts.attention.push_back({Role::QueryNorm, "q_norm"});
  config.parts.attention.push_back({Role::KeyNorm, "k_norm"});
}

/// Qwen and SmolLM say by a flag whether windows are used, and by a list or a rule in which layers.
void read_optional_windows(DecoderConfig& config, ConfigFields& fields, std::optional<int64_t> window_if_absent,
                           const std::vector<bool>& slides) {
  const std::optional<int64_t> window = fields.optional_whole("sliding_window", window_if_absent);
  const bool uses = fields.flag("use_sliding_window", false);
  std::vector<std::string> types = fields.words("layer_types");
  if (types.empty())
    for (const bool in_layer : slides)
      types.emplace_back(uses && window && in_layer ? "sliding_attention" : "full_attention");
  set_windows(config, fields, types, uses ? window : std::nullopt);
}

/// Returns for each layer whether it slides by Qwen's rule: those from max_window_layers on.
std::vector<bool> last_layers(const DecoderConfig& config, ConfigFields& fields) {
  const int64_t first = fields.whole("max_window_layers", 28, 0);
  std::vector<bool> slides;
  for (size_t i = 0; i < config.layers.size(); ++i) slides.push_back(static_cast<int64_t>(i) >= first);
  return slides;
}

}  // namespace

DecoderConfig read_llama(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = read_common(fields, {});
  read_attention_bias(config, fields);
  config.feed_forward_bias = fields.flag("mlp_bias", false);
  add_rope(config, fields, {}, ignored);
  return config;
}

DecoderConfig read_mistral(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = read_common(fields, {.key_value_heads = 8});
  add_rope(config, fields, {}, ignored);
  set_window(config, fields.optional_whole("sliding_window", 4096));
  return config;
}

DecoderConfig read_qwen2(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = read_common(fields, {.key_value_heads = 32, .has_head_size = true});
  config.query_key_value_bias = true;
  add_rope(config, fields, {}, ignored);
  read_optional_windows(config, fields, 4096, last_layers(config, fields));
  return config;
}

DecoderConfig read_qwen3(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = read_common(fields, {.key_value_heads = 32, .head_size = 128});
  read_attention_bias(config, fields);
  add_query_key_norms(config, QueryKeyNorm::Head);
  add_rope(config, fields, {}, ignored);
  read_optional_windows(config, fields, 4096, last_layers(config, fields));
  return config;
}

DecoderConfig read_smollm3(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = read_common(fields, {.key_value_heads = 4, .padding_token = 128004, .tied_head = true});
  read_attention_bias(config, fields);
  config.feed_forward_bias = fields.flag("mlp_bias", false);
  add_rope(config, fields, {.theta = 2e6}, ignored);
  const int64_t interval = fields.whole("no_rope_layer_interval", 4);
  std::vector<double> has_rope = fields.numbers("no_rope_layers");
  if (!has_rope.empty() && has_rope.size() != config.layers.size())
    fields.fail("no_rope_layers", "has ", has_rope.size(), " numbers for ", config.layers.size(), " layers");
  for (auto i = static_cast<int64_t>(has_rope.size()); i < static_cast<int64_t>(config.layers.size()); ++i)
    has_rope.push_back((i + 1) % interval != 0);
  std::vector<bool> slides;
  for (size_t i = 0; i < has_rope.size(); ++i) {
    if (has_rope[i] == 0) config.layers[i].rope.reset();
    slides.push_back(has_rope[i] == 0);
  }
  read_optional_windows(config, fields, std::nullopt, slides);
  return config;
}

DecoderConfig read_granite(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = read_common(fields, {});
  read_attention_bias(config, fields);
  config.feed_forward_bias = fields.flag("mlp_bias", false);
  add_rope(config, fields, {}, ignored);
  config.embedding_scale = fields.number("embedding_multiplier", 1);
  config.residual_scale = fields.number("residual_multiplier", 1);
  config.logit_divisor = fields.number("logits_scaling", 1);
  if (config.logit_divisor == 0) fields.fail("logits_scaling", "is above 0");
  const double scale = fields.number("attention_multiplier", 1);
  for (LayerConfig& layer : config.layers) layer.attention_scale = scale;
  return config;
}

DecoderConfig read_olmo2(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = read_common(fields, {.norm_eps = 1e-5, .padding_token = 1});
  read_attention_bias(config, fields);
  add_query_key_norms(config, QueryKeyNorm::Projection);
  config.parts.block = {{Role::Attention, "self_attn"},
                        {Role::FeedForward, "mlp"},
                        {Role::AttentionPostNorm, "post_attention_layernorm"},
                        {Role::FeedForwardPostNorm, "post_feedforward_layernorm"}};
  add_rope(config, fields, {}, ignored);
  return config;
}

DecoderConfig read_phi3(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = read_common(fields, {.norm_eps = 1e-5, .padding_token = 32000});
  config.parts.attention = {{Role::Output, "o_proj"}, {Role::QueryKeyValue, "qkv_proj"}};
  config.parts.feed_forward = {{Role::GateUp, "gate_up_proj"}, {Role::Down, "down_proj"}};
  config.residual_dropout = fields.number("resid_pdrop", 0);
  fields.skip("embd_pdrop");  // transformers does not use it
  add_rope(config, fields, {.takes_partial = true, .yarn_is_longrope = true, .original_positions = 4096}, ignored);
  set_window(config, fields.optional_whole("sliding_window"));
  return config;
}

}  // namespace levin::nn
