#include <levin/modules/transformers/decoder_config.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/modules/transformers/common_fields.h>
#include <levin/modules/transformers/families.h>

#include <algorithm>
#include <numeric>

namespace levin::nn {
namespace {

constexpr double kMostDecoderParameters = 1e13;

void check_decoder_fields(ConfigFields& fields) {
  read_common_fields(fields);
  fields.skip("id2label label2id num_labels problem_type classifier_dropout");
  fields.require("is_causal", true);
  fields.require("use_bidirectional_attention", false);
  fields.skip("is_decoder");
}

void check_sizes(const DecoderConfig& config, const ConfigFields& fields) {
  if (config.heads % config.key_value_heads != 0)
    fields.fail("num_key_value_heads", config.key_value_heads, " key and value heads do not divide ", config.heads,
                " attention heads");
  if (config.padding_token >= config.vocabulary)
    fields.fail("pad_token_id", "is ", config.padding_token, ", and the vocabulary has ", config.vocabulary, " tokens");
  if (config.tied_head && config.head_bias)
    fields.fail("tie_word_embeddings", "levin computes no tied head with a bias; it is false for this family");
  for (const double rate : {config.attention_dropout, config.residual_dropout, config.embedding_dropout})
    if (rate >= 1) fields.fail("dropout", "a rate is ", rate, "; it is below 1");
  const double hidden = static_cast<double>(config.hidden), heads = static_cast<double>(config.heads);
  const double of_layer =
      hidden * static_cast<double>(config.intermediate) + hidden * heads * static_cast<double>(config.head_size);
  const double all =
      static_cast<double>(config.vocabulary) * hidden + of_layer * static_cast<double>(config.layers.size());
  if (all > kMostDecoderParameters) fields.fail("hidden_size", "the sizes give more than ", all, " parameters");
}

}  // namespace

const std::string* name_of(const Parts& parts, Role role) {
  const auto found = std::ranges::find(parts, role, &Part::role);
  return found == parts.end() ? nullptr : &found->name;
}

std::vector<std::string> decoder_families() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.name);
  return names;
}

DecoderConfig decoder_config(const nlohmann::ordered_json& json, const std::string& file,
                             const std::vector<std::string>& ignored_fields) {
  ConfigFields fields(json, file + ": ");
  const std::string type = fields.word("model_type");
  const std::vector<std::string> known = decoder_families();
  const auto place = std::ranges::find(known, type);
  if (place == known.end()) {
    const std::string names = joined(known);
    fields.fail("model_type", "levin does not know ", type, did_you_mean(type, known), "; it knows ", names);
  }
  check_decoder_fields(fields);
  DecoderConfig config = families()[static_cast<size_t>(place - known.begin())].read(fields, ignored_fields);
  config.family = type;
  check_sizes(config, fields);
  fields.check_all_read(ignored_fields);
  return config;
}

}  // namespace levin::nn
