/// Vision transformers of transformers.
#include <levin/modules/images/image_families.h>
#include <levin/modules/images/vision_transformer.h>

namespace levin::nn {
namespace {

constexpr int64_t kMostVisionLayers = 10'000;

ImageNetwork read_vision_transformer(ConfigFields& fields, const std::string& base, bool distills) {
  VisionTransformerConfig config;
  config.names = {.class_token = base + "embeddings.cls_token",
                  .distillation_token = distills ? base + "embeddings.distillation_token" : "",
                  .positions = base + "embeddings.position_embeddings",
                  .patches = base + "embeddings.patch_embeddings.projection",
                  .blocks = base + "encoder.layer",
                  .norm = base + "layernorm",
                  .norm_before = "layernorm_before",
                  .norm_after = "layernorm_after",
                  .query = "attention.attention.query",
                  .key = "attention.attention.key",
                  .value = "attention.attention.value",
                  .output = "attention.output.dense",
                  .up = "intermediate.dense",
                  .down = "output.dense"};
  config.image = read_two_sizes(fields, "image_size", 224);
  config.patch = read_two_sizes(fields, "patch_size", 16);
  config.channels = fields.whole("num_channels", 3);
  config.hidden = fields.whole("hidden_size", 768);
  config.layers = fields.whole("num_hidden_layers", 12, 1, kMostVisionLayers);
  config.heads = fields.whole("num_attention_heads", 12);
  config.intermediate = fields.whole("intermediate_size", 3072);
  config.activation = read_image_activation(fields, "hidden_act", "gelu");
  config.norm_eps = fields.number("layer_norm_eps", 1e-12);
  config.query_key_value_bias = fields.flag("qkv_bias", true);
  config.hidden_dropout = read_rate(fields, "hidden_dropout_prob", 0);
  config.attention_dropout = read_rate(fields, "attention_probs_dropout_prob", 0);
  fields.skip("encoder_stride pooler_output_size pooler_act");
  check_vision_sizes(fields, config.hidden, config.heads, config.image, config.patch);
  return {.make = vision_transformer(config),
          .channels = config.channels,
          .image = config.image,
          .features = config.hidden,
          .base = base,
          .left = {base + "pooler.", base + "embeddings.mask_token"}};
}

}  // namespace

ImageNetwork read_vit(ConfigFields& fields) { return read_vision_transformer(fields, "vit.", false); }

ImageNetwork read_deit(ConfigFields& fields) { return read_vision_transformer(fields, "deit.", true); }

}  // namespace levin::nn
