#pragma once
#include <levin/core/options/choice.h>
#include <levin/modules/nn/problem_type.h>
#include <levin/modules/transformers/activation.h>
#include <levin/modules/transformers/rope_config.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace levin::nn {

/// The names that a family has for the parts of its encoder, below the encoder itself; empty: it has no such part.
struct EncoderNames {
  std::string base = "bert";  ///< the encoder in a model with a head
  std::string words = "embeddings.word_embeddings", positions = "embeddings.position_embeddings";
  std::string token_types = "embeddings.token_type_embeddings", embedding_norm = "embeddings.LayerNorm";
  std::string projection = "embeddings_project";  ///< from the size of the embeddings to that of the layers
  std::string layers = "encoder.layer";
  std::string relative_positions = {};
  // Below a layer.
  std::string query = "attention.self.query", key = "attention.self.key", value = "attention.self.value";
  std::string attention_output = "attention.output.dense", attention_norm = "attention.output.LayerNorm";
  std::string up = "intermediate.dense", down = "output.dense", output_norm = "output.LayerNorm";
};

/// The function between the layers of a head.
enum class HeadActivation : uint8_t { Tanh, Gelu, Relu };

/// The head of a classifier of sequences: from the first token's hidden state through a layer, a function and dropout
/// to the logits.
struct SequenceHeadConfig {
  std::string dense = {}, output = "classifier";  ///< names in the whole model
  std::string norm = {};                          ///< behind the function; empty: there is none
  HeadActivation activation = HeadActivation::Tanh;
  bool dense_bias = true;
  bool takes_mean = false;    ///< of the hidden states of all tokens, in place of the first one's
  bool drops_before = false;  ///< dropout also before the first layer
  double dropout = 0;
};

/// How transformers draws the weights of a new head: with these deviations.
struct NewHeadConfig {
  double dense_range = 0, output_range = 0;  ///< 0: that of the model
  double cutoff = 0;                         ///< in deviations: no weight lies beyond; 0: any may be drawn
};

/// Layers with rotary positions, a norm before each part and a gate, as ModernBERT has them.
struct RotaryLayersConfig {
  std::vector<bool> is_local = {};  ///< for each layer: it sees tokens up to `reach` away, or all
  int64_t reach = 0;
  RopeConfig full = {}, local = {};
  bool norm_bias = false, attention_bias = false, feed_forward_bias = false;
};

/// A bidirectional transformer, such as a config.json of Hugging Face describes it.
struct EncoderConfig {
  std::string family = {};      ///< `model_type`
  std::string class_name = {};  ///< of its Python classes: "Bert"
  EncoderNames names = {};
  int64_t vocabulary = 0, embedding = 0, hidden = 0, intermediate = 0, heads = 0, layers = 0;
  int64_t positions = 0;              ///< rows of the table of positions, or the most tokens without a table
  int64_t token_types = 0;            ///< 0: there are none
  int64_t relative_buckets = 0;       ///< rows of the table of distances between tokens; 0: there is none
  int64_t padding_token = -1;         ///< its embedding gets no gradient; -1: none
  bool counts_after_padding = false;  ///< the first position is padding_token + 1, and padding is at padding_token
  double norm_eps = 1e-12;
  Activation activation = Activation::Gelu;
  double attention_dropout = 0, embedding_dropout = 0, attention_output_dropout = 0, output_dropout = 0;
  SequenceHeadConfig sequence_head = {};
  double token_dropout = 0;  ///< before the head of a classifier of tokens
  bool token_head_is_sequence_head = false;
  double initializer_range = 0.02;
  NewHeadConfig new_head = {};
  std::optional<RotaryLayersConfig> rotary = {};  ///< unset: layers as BERT's

  std::vector<std::string> labels = {};  ///< names of the classes
  bool has_own_labels = false;           ///< the names are not those that transformers makes up
  Choice<ProblemType> problem_type = ProblemType::Auto;

  /// Returns the rows of the table of positions that there is.
  int64_t position_rows() const { return names.positions.empty() ? 0 : positions; }
  /// Returns the most tokens of a sequence.
  int64_t most_tokens() const { return counts_after_padding ? positions - padding_token - 1 : positions; }
};

/// Returns the values of `model_type` that encoder_config knows.
std::vector<std::string> encoder_families();

/// Makes the description from the text of a config.json. `file` is its path, for errors. `ignored_fields`: fields that
/// may be there although levin does not know them. Throws levin::UsageError that names the field: for a model type and
/// for fields that levin does not know, for values out of range, and for those that it does not compute.
/// Source: the classes of transformers 5.24, `models/*/modeling_*.py`.
EncoderConfig encoder_config(const nlohmann::ordered_json& json, const std::string& file,
                             const std::vector<std::string>& ignored_fields = {});

/// Returns the names that transformers gives to classes without names: LABEL_0, LABEL_1, ...
std::vector<std::string> made_up_labels(int64_t count);

}  // namespace levin::nn
