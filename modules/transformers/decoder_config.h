#pragma once
#include <levin/modules/transformers/activation.h>
#include <levin/modules/transformers/rope_config.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace levin::nn {

enum class NormKind : uint8_t {
  Rms,         ///< x / rms(x) * weight
  RmsPlusOne,  ///< x / rms(x) * (1 + weight), as Gemma has it
  Layer        ///< torch::nn::LayerNorm
};

/// Over what queries and keys are normalized.
enum class QueryKeyNorm : uint8_t { None, Head, Projection };

/// How the output features of a layer that makes queries, keys and values lie.
enum class FusedOrder : uint8_t {
  Blocks,  ///< those of all heads' queries, then of the keys, then of the values
  Heads    ///< those of the first head, its query, key and value, then of the next head
};

/// What a part of a decoder is for.
enum class Role : uint8_t {
  Attention,
  FeedForward,
  AttentionNorm,        ///< before the attention
  AttentionPostNorm,    ///< after it, before the residual connection
  FeedForwardNorm,      ///< before the feed-forward network; without one it takes what the attention takes, or x
  FeedForwardPostNorm,  ///< after it
  Query,
  Key,
  Value,
  QueryKeyValue,  ///< one layer for the three
  Output,
  QueryNorm,
  KeyNorm,
  Gate,
  Up,
  GateUp,  ///< one layer for the two
  Down,
  Embedding,
  Positions,
  Layers,
  FinalNorm
};

struct Part {
  Role role = Role::Attention;
  std::string name = {};
};
/// The parts of a module by the names that the family has for them, in the order in which Python registers them.
using Parts = std::vector<Part>;
/// Returns the name of a part; null if there is none.
const std::string* name_of(const Parts& parts, Role role);

struct DecoderParts {
  std::string base = "model";  ///< the decoder without its head
  Parts decoder = {}, block = {}, attention = {}, feed_forward = {};
  std::string head = "lm_head";
};

/// What differs between the layers of a decoder.
struct LayerConfig {
  std::optional<int64_t> window = {};  ///< a token attends to itself and to the window - 1 tokens before it
  std::optional<size_t> rope = {};     ///< the number of its rope; none: positions do not matter to it
  double attention_scale = 1;          ///< multiplies the products of queries and keys
};

/// A decoder-only transformer, such as a config.json of Hugging Face describes it: one block with the parts that the
/// family has.
struct DecoderConfig {
  std::string family = {};  ///< `model_type`
  DecoderParts parts = {};
  int64_t vocabulary = 0, hidden = 0, intermediate = 0;
  int64_t heads = 0, key_value_heads = 0, head_size = 0;
  int64_t learned_positions = 0;  ///< rows of the table of positions; 0: there is none
  std::vector<LayerConfig> layers = {};
  std::vector<RopeConfig> ropes = {};

  NormKind norm = NormKind::Rms;
  double norm_eps = 1e-6;
  Activation activation = Activation::Silu;
  QueryKeyNorm query_key_norm = QueryKeyNorm::None;
  FusedOrder fused_order = FusedOrder::Blocks;
  bool query_key_value_bias = false, output_bias = false, feed_forward_bias = false, head_bias = false;
  bool parallel_residual = false;  ///< attention and feed-forward network take the same x
  bool tied_head = false;
  bool transposed_weights = false;  ///< the weights of a file's linear layers are [in, out]
  int64_t padding_token = -1;       ///< its embedding gets no gradient; -1: none

  double embedding_scale = 1, residual_scale = 1, logit_divisor = 1;
  std::optional<double> attention_softcap = {}, logit_softcap = {};
  double attention_dropout = 0, residual_dropout = 0, embedding_dropout = 0;
};

/// Returns the values of `model_type` that decoder_config knows.
std::vector<std::string> decoder_families();

/// Makes the description from the text of a config.json. `file` is its path, for errors. `ignored_fields`: fields that
/// may be there although levin does not know them. Throws levin::UsageError that names the field: for a model type and
/// for fields that levin does not know, for values out of range, and for those that it does not compute.
/// Source: the classes of transformers 5.24, `models/*/modeling_*.py`.
DecoderConfig decoder_config(const nlohmann::ordered_json& json, const std::string& file,
                             const std::vector<std::string>& ignored_fields = {});

}  // namespace levin::nn
