#include <levin/core/system/error.h>
#include <levin/modules/transformers/encoder_families.h>
#include <levin/modules/transformers/family_parts.h>

#include <algorithm>
#include <cmath>

namespace levin::nn {
namespace {

constexpr int64_t kMostModernBertLayers = 10'000, kMostModernBertHeads = 1 << 16;
constexpr const char *kFull = "full_attention", *kLocal = "sliding_attention";

/// Reads which layers see the tokens nearby alone: a word for each layer, or in older files how many layers follow each
/// other up to the next one that sees all.
std::vector<bool> read_local_layers(ConfigFields& fields, int64_t layers) {
  const int64_t period = fields.whole("global_attn_every_n_layers", 3);
  const std::vector<std::string> words = fields.words("layer_types");
  std::vector<bool> is_local;
  if (words.empty()) {
    for (int64_t i = 0; i < layers; ++i) is_local.push_back(i % period != 0);
    return is_local;
  }
  if (static_cast<int64_t>(words.size()) != layers)
    fields.fail("layer_types", "names ", words.size(), " layers, and num_hidden_layers is ", layers);
  for (const std::string& word : words) {
    if (word != kFull && word != kLocal) fields.fail("layer_types", "expected ", kFull, " or ", kLocal, ", got ", word);
    is_local.push_back(word == kLocal);
  }
  return is_local;
}

/// Reads the ropes of both kinds of layers: `rope_parameters` of transformers 5, or two numbers of older files.
void read_ropes(RotaryLayersConfig& rotary, ConfigFields& fields, int64_t head_size) {
  const double full = fields.optional_number("global_rope_theta", 160000).value_or(160000);
  const double local = fields.optional_number("local_rope_theta", 10000).value_or(10000);
  fields.require("rope_scaling", nullptr);
  const ConfigFields::Json nothing = ConfigFields::Json::object();
  const ConfigFields::Json* const given = fields.find("rope_parameters");
  ConfigFields kinds(given != nullptr ? *given : nothing, fields.place() + "rope_parameters.");
  rotary.full = read_rope_object(fields, kinds.find(kFull), std::string("rope_parameters.") + kFull, head_size,
                                 {.theta = full}, {});
  rotary.local = read_rope_object(fields, kinds.find(kLocal), std::string("rope_parameters.") + kLocal, head_size,
                                  {.theta = local}, {});
  kinds.check_all_read({});
}

HeadActivation read_head_activation(ConfigFields& fields) {
  const std::string word = fields.word("classifier_activation", "gelu");
  if (word == "gelu") return HeadActivation::Gelu;
  if (word == "relu") return HeadActivation::Relu;
  if (word == "tanh") return HeadActivation::Tanh;
  fields.fail("classifier_activation", "levin does not know ", word, " here; it knows gelu, relu, tanh");
}

/// Reads the head, which the classifiers of sequences and of tokens have, and how transformers draws a new one.
void read_modernbert_head(EncoderConfig& config, ConfigFields& fields) {
  const double rate = fields.number("classifier_dropout", 0);
  const std::string pooling = fields.word("classifier_pooling", "cls");
  if (pooling != "cls" && pooling != "mean") fields.fail("classifier_pooling", "expected cls or mean, got ", pooling);
  config.sequence_head = {.dense = "head.dense",
                          .norm = "head.norm",
                          .activation = read_head_activation(fields),
                          .dense_bias = fields.flag("classifier_bias", false),
                          .takes_mean = pooling == "mean",
                          .dropout = rate};
  config.token_dropout = rate;
  config.token_head_is_sequence_head = true;
  const double range = fields.number("initializer_range", 0.02);
  config.new_head = {.dense_range = range / std::sqrt(2 * static_cast<double>(config.layers)),
                     .output_range = 1 / std::sqrt(static_cast<double>(config.hidden)),
                     .cutoff = fields.optional_number("initializer_cutoff_factor", 2).value_or(3)};
}

}  // namespace

EncoderConfig read_modernbert(ConfigFields& fields) {
  EncoderConfig config;
  config.class_name = "ModernBert";
  config.names = {.base = "model",
                  .words = "embeddings.tok_embeddings",
                  .positions = "",
                  .token_types = "",
                  .embedding_norm = "embeddings.norm",
                  .layers = "layers"};
  config.vocabulary = fields.whole("vocab_size", 50368);
  config.hidden = config.embedding = fields.whole("hidden_size", 768);
  config.layers = fields.whole("num_hidden_layers", 22, 1, kMostModernBertLayers);
  config.heads = fields.whole("num_attention_heads", 12, 1, kMostModernBertHeads);
  config.intermediate = fields.whole("intermediate_size", 1152);
  config.activation = read_activation(fields, "hidden_activation", "gelu");
  config.positions = fields.whole("max_position_embeddings", 8192);
  config.padding_token = fields.optional_whole("pad_token_id", 50283, 0).value_or(-1);
  config.norm_eps = fields.number("norm_eps", 1e-5);
  config.attention_dropout = fields.number("attention_dropout", 0);
  config.embedding_dropout = fields.number("embedding_dropout", 0);
  config.output_dropout = fields.number("mlp_dropout", 0);
  if (config.hidden % config.heads != 0)
    fields.fail("hidden_size", config.heads, " attention heads do not divide ", config.hidden);
  RotaryLayersConfig& rotary = config.rotary.emplace();
  rotary.is_local = read_local_layers(fields, config.layers);
  rotary.reach = fields.whole("local_attention", 128, 0) / 2;
  rotary.norm_bias = fields.flag("norm_bias", false);
  rotary.attention_bias = fields.flag("attention_bias", false);
  rotary.feed_forward_bias = fields.flag("mlp_bias", false);
  read_ropes(rotary, fields, config.hidden / config.heads);
  read_modernbert_head(config, fields);
  fields.skip(
      "cls_token_id decoder_bias deterministic_flash_attn sparse_prediction sparse_pred_ignore_index "
      "reference_compile repad_logits_with_grad position_embedding_type layer_norm_eps");
  return config;
}

}  // namespace levin::nn
