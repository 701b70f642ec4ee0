#pragma once
#include <levin/core/state/safetensors.h>
#include <levin/modules/transformers/decoder.h>
#include <levin/modules/weights.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/temporary_folder.h"

using Json = nlohmann::ordered_json;

inline Json small_config(const std::string& type) {
  if (type == "gpt2")
    return {{"model_type", "gpt2"}, {"vocab_size", 13},  {"n_positions", 16},       {"n_embd", 16},
            {"n_layer", 2},         {"n_head", 4},       {"attn_pdrop", 0},         {"resid_pdrop", 0},
            {"embd_pdrop", 0},      {"eos_token_id", 2}, {"torch_dtype", "float32"}};
  return {
      {"model_type", type},     {"vocab_size", 13},         {"hidden_size", 16},        {"intermediate_size", 10},
      {"num_hidden_layers", 2}, {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"max_position_embeddings", 32},
      {"pad_token_id", 3},      {"eos_token_id", 2}};
}

inline void write_text(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

/// Random weights for a config, with the names and shapes that files of the family have.
inline levin::State random_weights(const Json& json, uint64_t seed = 1) {
  const levin::nn::DecoderConfig config = levin::nn::decoder_config(json, "config.json");
  at::Generator generator = at::detail::createCPUGenerator(seed);
  levin::State state = levin::State::dict();
  const auto add = [&](const std::string& name, at::IntArrayRef sizes) {
    const bool is_gain = sizes.size() == 1 && name.ends_with("weight") && !config.family.starts_with("gemma");
    state[name] = at::empty(sizes).normal_(is_gain ? 1 : 0, 0.3, generator);
  };
  const levin::nn::Decoder decoder(config);
  for (const auto& item : decoder.named_parameters()) {
    const at::Tensor& value = item.value();
    const bool is_turned = config.transposed_weights && value.dim() == 2 && item.key().starts_with("h.");
    add(config.parts.base + "." + item.key(), is_turned ? value.t().sizes() : value.sizes());
  }
  if (!config.tied_head) add(config.parts.head + ".weight", {config.vocabulary, config.hidden});
  if (config.head_bias) add(config.parts.head + ".bias", {config.vocabulary});
  return state;
}

/// A folder with a small random model of a family.
struct SmallFolder {
  explicit SmallFolder(const std::string& type, const Json& changes = Json::object()) : config(small_config(type)) {
    config.update(changes);
    weights = random_weights(config);
    write();
  }
  void write() const {
    write_text(folder / "config.json", config.dump(1));
    levin::save_safetensors(weights, folder / "model.safetensors");
  }
  std::string path() const { return folder.path().string(); }

  TemporaryFolder folder = {};
  Json config;
  levin::State weights = levin::State::dict();
};
