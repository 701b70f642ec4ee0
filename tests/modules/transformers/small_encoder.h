#pragma once
#include <levin/core/state/safetensors.h>
#include <levin/modules/transformers/encoder.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/modules/transformers/small_folder.h"

/// The config of a small encoder of a family; without dropout.
inline Json small_encoder_config(const std::string& type) {
  if (type == "distilbert")
    return {{"model_type", type},
            {"vocab_size", 20},
            {"dim", 16},
            {"hidden_dim", 10},
            {"n_layers", 2},
            {"n_heads", 4},
            {"dropout", 0},
            {"attention_dropout", 0},
            {"seq_classif_dropout", 0},
            {"max_position_embeddings", 16}};
  if (type == "modernbert")
    return {{"model_type", type},
            {"vocab_size", 20},
            {"hidden_size", 16},
            {"intermediate_size", 10},
            {"num_hidden_layers", 4},
            {"num_attention_heads", 4},
            {"max_position_embeddings", 16},
            {"local_attention", 4},
            {"pad_token_id", 0}};
  Json json = {{"model_type", type},
               {"vocab_size", 20},
               {"hidden_size", 16},
               {"intermediate_size", 10},
               {"num_hidden_layers", 2},
               {"num_attention_heads", 4},
               {"max_position_embeddings", 16},
               {"hidden_dropout_prob", 0},
               {"attention_probs_dropout_prob", 0}};
  if (type == "electra") json["embedding_size"] = 12;
  return json;
}

/// A folder with a small random encoder, without a head.
struct SmallEncoder {
  explicit SmallEncoder(const std::string& type, const Json& changes = Json::object())
      : config(small_encoder_config(type)) {
    config.update(changes);
    const levin::nn::EncoderConfig read = levin::nn::encoder_config(config, "config.json");
    at::Generator generator = at::detail::createCPUGenerator(1);
    const levin::nn::Encoder encoder(read);
    for (const auto& item : encoder.named_parameters()) {
      const bool is_gain = item.value().dim() == 1 && item.key().ends_with("weight");
      weights[read.names.base + "." + item.key()] = at::empty(item.value().sizes()).normal_(is_gain, 0.3, generator);
    }
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
