#include <levin/modules/transformers/families.h>
#include <levin/modules/transformers/family_parts.h>

#include <cmath>

namespace levin::nn {
namespace {

DecoderConfig common_of_gemma(ConfigFields& fields, FamilyDefaults defaults) {
  defaults.activation = "gelu_pytorch_tanh";
  defaults.head_size = 256;
  defaults.padding_token = 0;
  defaults.tied_head = true;
  DecoderConfig config = read_common(fields, defaults);
  config.norm = NormKind::RmsPlusOne;
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden));
  config.query_key_value_bias = config.output_bias = fields.flag("attention_bias", false);
  return config;
}

/// The second and third generation have norms behind their parts, and their own scale of queries.
DecoderConfig common_of_later_gemma(ConfigFields& fields) {
  DecoderConfig config = common_of_gemma(fields, {.activation_field = "hidden_activation", .key_value_heads = 4});
  fields.skip("hidden_act");
  config.parts.block = {{Role::Attention, "self_attn"},
                        {Role::FeedForward, "mlp"},
                        {Role::AttentionNorm, "input_layernorm"},
                        {Role::AttentionPostNorm, "post_attention_layernorm"},
                        {Role::FeedForwardNorm, "pre_feedforward_layernorm"},
                        {Role::FeedForwardPostNorm, "post_feedforward_layernorm"}};
  const double scalar = fields.number("query_pre_attn_scalar", 256);
  if (scalar == 0) fields.fail("query_pre_attn_scalar", "is above 0");
  for (LayerConfig& layer : config.layers) layer.attention_scale = 1 / std::sqrt(scalar);
  return config;
}

std::optional<double> softcap(ConfigFields& fields, const std::string& name, std::optional<double> if_absent) {
  const std::optional<double> cap = fields.optional_number(name, if_absent);
  if (cap && *cap == 0) fields.fail(name, "is above 0, or null");
  return cap;
}

/// Every layer slides but each `period`-th.
void read_period(DecoderConfig& config, ConfigFields& fields, int64_t period) {
  std::vector<std::string> types = fields.words("layer_types");
  if (types.empty())
    for (size_t i = 0; i < config.layers.size(); ++i)
      types.emplace_back((static_cast<int64_t>(i) + 1) % period != 0 ? "sliding_attention" : "full_attention");
  set_windows(config, fields, types, fields.optional_whole("sliding_window", 4096));
}

}  // namespace

DecoderConfig read_gemma(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = common_of_gemma(fields, {.key_value_heads = 16});
  // The first files say "gelu" and mean the approximation by tanh.
  if (config.activation == Activation::Gelu) config.activation = Activation::GeluTanh;
  fields.require("hidden_activation", "gelu_pytorch_tanh");
  add_rope(config, fields, {}, ignored);
  return config;
}

DecoderConfig read_gemma2(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = common_of_later_gemma(fields);
  config.attention_softcap = softcap(fields, "attn_logit_softcapping", 50);
  config.logit_softcap = softcap(fields, "final_logit_softcapping", 30);
  add_rope(config, fields, {}, ignored);
  read_period(config, fields, 2);
  return config;
}

DecoderConfig read_gemma3_text(ConfigFields& fields, const std::vector<std::string>& ignored) {
  DecoderConfig config = common_of_later_gemma(fields);
  fields.require("attn_logit_softcapping", nullptr);  // transformers does not compute it either
  config.logit_softcap = softcap(fields, "final_logit_softcapping", {});
  config.query_key_norm = QueryKeyNorm::Head;
  config.parts.attention.push_back({Role::QueryNorm, "q_norm"});
  config.parts.attention.push_back({Role::KeyNorm, "k_norm"});
  fields.skip("_sliding_window_pattern");
  read_period(config, fields, fields.whole("sliding_window_pattern", 6));

  const RopeDefaults full = {.theta = fields.number("rope_theta", 1e6)};
  const RopeDefaults sliding = {.theta = fields.number("rope_local_base_freq", 1e4)};
  const ConfigFields::Json* const old_object = fields.find("rope_scaling");
  const ConfigFields::Json* const by_type = fields.find("rope_parameters");
  const ConfigFields::Json nothing = ConfigFields::Json::object();
  ConfigFields types(by_type ? *by_type : nothing, fields.place() + "rope_parameters.");
  const ConfigFields::Json* const of_full = types.find("full_attention");
  const ConfigFields::Json* const of_sliding = types.find("sliding_attention");
  types.check_all_read(ignored, "rope_parameters.");
  config.ropes = {
      old_object != nullptr && of_full == nullptr
          ? read_rope_object(fields, old_object, "rope_scaling", config.head_size, full, ignored)
          : read_rope_object(fields, of_full, "rope_parameters.full_attention", config.head_size, full, ignored),
      read_rope_object(fields, of_sliding, "rope_parameters.sliding_attention", config.head_size, sliding, ignored)};
  for (LayerConfig& layer : config.layers) layer.rope = layer.window ? 1 : 0;
  return config;
}

}  // namespace levin::nn
