#include <levin/modules/transformers/decoder_config.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/transformers/small_folder.h"

using levin::UsageError;
using levin::nn::decoder_config;
using levin::nn::DecoderConfig;

namespace {

std::string refused_config(const std::string& type, const Json& changes) {
  Json config = small_config(type);
  config.update(changes);
  return error_text<UsageError>([&] { decoder_config(config, "DIR/config.json"); });
}

}  // namespace

TEST_CASE("a config.json of each family is read") {
  const std::vector<std::string> families = levin::nn::decoder_families();
  CHECK(families.size() == 16);
  for (const std::string& family : families) {
    INFO(family);
    Json changes = Json::object();
    if (family == "qwen2" || family == "qwen3") changes["num_key_value_heads"] = 4;
    if (family == "stablelm" || family == "gpt_neox") changes["hidden_size"] = 32;
    Json json = small_config(family);
    json.update(changes);
    const DecoderConfig config = decoder_config(json, "config.json");
    CHECK(config.family == family);
    CHECK(config.vocabulary == 13);
    CHECK(config.layers.size() == 2);
    CHECK(config.layers[0].rope.has_value() == (family != "gpt2"));
    CHECK(config.layers[0].window.has_value() ==
          (family == "mistral" || family == "gemma2" || family == "gemma3_text"));
  }
}

TEST_CASE("a config.json that levin does not compute is refused by the field's name") {
  CHECK(refused_config("lama", Json::object()) ==
        "DIR/config.json: model_type: levin does not know lama (did you mean llama?); it knows gemma, gemma2, "
        "gemma3_text, gpt2, gpt_neox, granite, llama, mistral, olmo2, phi, phi3, qwen2, qwen3, smollm3, stablelm, "
        "starcoder2");
  CHECK(refused_config("llama", {{"model_type", nullptr}}) == "DIR/config.json: model_type: is missing");
  CHECK(refused_config("llama", {{"attention_sinks", 4}, {"other", true}}) ==
        "DIR/config.json: levin does not know what the fields attention_sinks, other change; if they change nothing "
        "that is computed, name them in model.ignored_fields");
  CHECK(contains(refused_config("llama", {{"hidden_act", "quick_gelu"}}),
                 "hidden_act: levin does not compute quick_gelu"));
  CHECK(
      contains(refused_config("llama", {{"quantization_config", {{"bits", 4}}}}), "levin reads no quantized weights"));
  CHECK(contains(refused_config("llama", {{"is_encoder_decoder", true}}),
                 "is_encoder_decoder: is true, which levin does not"));
  CHECK(contains(refused_config("gemma3_text", {{"attn_logit_softcapping", 50.0}}), "attn_logit_softcapping"));
  CHECK(contains(refused_config("gemma2", {{"use_bidirectional_attention", true}}), "use_bidirectional_attention"));
  CHECK(contains(refused_config("stablelm", {{"hidden_size", 32}, {"qk_layernorm", true}}), "qk_layernorm"));
  CHECK(contains(refused_config("stablelm", {{"hidden_size", 32}, {"hidden_dropout", 0.1}}), "hidden_dropout"));
  CHECK(contains(refused_config("gpt2", {{"add_cross_attention", true}}), "add_cross_attention"));
  CHECK(contains(refused_config("phi", {{"tie_word_embeddings", true}}), "tie_word_embeddings"));
  CHECK(contains(refused_config("qwen2", {{"num_key_value_heads", 4}, {"layer_types", {"full_attention", "chunked"}}}),
                 "layer_types: levin does not know chunked"));
  CHECK(contains(refused_config("qwen2", {{"num_key_value_heads", 4}, {"layer_types", {"full_attention"}}}),
                 "layer_types: has 1 words for 2 layers"));
  CHECK(contains(
      refused_config("qwen2", {{"num_key_value_heads", 4}, {"layer_types", {"full_attention", "sliding_attention"}}}),
      "sliding_window: is missing, and layer 1 is sliding_attention"));
}

TEST_CASE("values of a config.json that are out of range are refused") {
  CHECK(contains(refused_config("llama", {{"hidden_size", nullptr}}), "hidden_size: is missing"));
  CHECK(refused_config("llama", {{"hidden_size", "16"}}) ==
        "DIR/config.json: hidden_size: expected a whole number from 1 to 2147483648, got \"16\"");
  for (const Json& bad : {Json(0), Json(-4), Json(1e30), Json(16.5), Json(true), Json::array(), Json(1ULL << 63)})
    CHECK(contains(refused_config("llama", {{"hidden_size", bad}}), "hidden_size: expected a whole number"));
  CHECK(contains(refused_config("llama", {{"num_hidden_layers", 1'000'000'000}}), "num_hidden_layers"));
  CHECK(contains(refused_config("llama", {{"hidden_size", 1 << 30}, {"vocab_size", 1 << 30}}), "parameters"));
  CHECK(contains(refused_config("llama", {{"hidden_size", 18}}), "num_attention_heads: 4 heads do not divide"));
  CHECK(contains(refused_config("llama", {{"num_key_value_heads", 3}}),
                 "num_key_value_heads: 3 key and value heads do not"));
  CHECK(contains(refused_config("llama", {{"head_dim", 5}}), "partial_rotary_factor"));
  CHECK(contains(refused_config("llama", {{"pad_token_id", 13}}),
                 "pad_token_id: is 13, and the vocabulary has 13 tokens"));
  CHECK(contains(refused_config("llama", {{"pad_token_id", -14}}), "pad_token_id"));
  CHECK(contains(refused_config("llama", {{"attention_dropout", 1.0}}), "dropout"));
  CHECK(contains(refused_config("gemma2", {{"attn_logit_softcapping", 0}}),
                 "attn_logit_softcapping: is above 0, or null"));
  CHECK(contains(refused_config("smollm3", {{"no_rope_layers", {1, 0, 1}}}),
                 "no_rope_layers: has 3 numbers for 2 layers"));
  CHECK(error_text<UsageError>([] { decoder_config(Json::array(), "DIR/config.json"); }) ==
        "DIR/config.json: a JSON object was expected");
}

TEST_CASE("parameters of rope that levin does not compute are refused") {
  const auto with_rope = [](const Json& parameters) {
    return refused_config("llama", {{"rope_parameters", parameters}});
  };
  CHECK(contains(with_rope({{"rope_type", "spiral"}}),
                 "rope_parameters.rope_type: levin does not know spiral; it knows default, linear, dynamic, yarn, "
                 "longrope, llama3"));
  CHECK(contains(with_rope({{"rope_type", "linear"}}), "rope_parameters.factor: is missing"));
  CHECK(contains(with_rope({{"rope_type", "linear"}, {"factor", 0}}), "factor: is above 0"));
  CHECK(contains(with_rope({{"rope_type", "linear"}, {"factor", 2}, {"wobble", 1}}), "rope_parameters.wobble"));
  CHECK(contains(with_rope({{"partial_rotary_factor", 0.5}}), "this family rotates whole heads"));
  CHECK(contains(with_rope({{"rope_type", "longrope"}, {"short_factor", {1}}, {"long_factor", {1, 2}}}),
                 "short_factor: has 1 numbers, 2 are needed"));
  CHECK(contains(with_rope({{"rope_type", "llama3"},
                            {"factor", 8},
                            {"low_freq_factor", 4},
                            {"high_freq_factor", 1},
                            {"original_max_position_embeddings", 8}}),
                 "high_freq_factor: is above low_freq_factor"));
  CHECK(
      contains(refused_config("llama", {{"rope_scaling", {{"type", "su"}, {"factor", 2}}}}), "levin does not know su"));
  CHECK(contains(refused_config("phi", {{"partial_rotary_factor", 0.3}}), "1 rotated ones; an even number"));
  CHECK(contains(refused_config("gemma3_text", {{"rope_parameters", {{"rope_theta", 1e4}}}}),
                 "rope_parameters.rope_theta"));
}

TEST_CASE("fields that the user names are ignored, and null is no value") {
  Json json = small_config("llama");
  json.update({{"attention_sinks", 4}, {"rope_parameters", {{"wobble", 1}}}, {"other", nullptr}});
  CHECK(decoder_config(json, "config.json", {"attention_sinks", "rope_parameters.wobble"}).hidden == 16);
  // Absent is the family's own value, and null none.
  CHECK(decoder_config(small_config("mistral"), "config.json").layers[0].window == 4096);
  json = small_config("mistral");
  json["sliding_window"] = nullptr;
  CHECK(!decoder_config(json, "config.json").layers[0].window);
  json = small_config("gemma");
  json.erase("pad_token_id");
  CHECK(decoder_config(json, "config.json").padding_token == 0);
  json["pad_token_id"] = nullptr;
  CHECK(decoder_config(json, "config.json").padding_token == -1);
}
