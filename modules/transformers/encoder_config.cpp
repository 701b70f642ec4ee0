#include <levin/modules/transformers/encoder_config.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/data/datasets/readers/label_table.h>
#include <levin/modules/transformers/common_fields.h>
#include <levin/modules/transformers/encoder_families.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace levin::nn {
namespace {

constexpr double kMostEncoderParameters = 1e13;
constexpr int64_t kMostLabels = 1 << 20;

void check_encoder_fields(ConfigFields& fields) {
  read_common_fields(fields);
  fields.require("is_decoder", false);
  fields.require("is_causal", false);
  fields.skip("tie_word_embeddings");
}

void read_labels(EncoderConfig& config, ConfigFields& fields) {
  const int64_t count = fields.whole("num_labels", 2, 1, kMostLabels);
  const ConfigFields::Json* const names = fields.find("id2label");
  fields.skip("label2id _num_labels");  // the same names the other way round
  if (names == nullptr) {
    config.labels = made_up_labels(count);
  } else {
    const std::optional<std::vector<std::string>> labels = data::names_of_label_table(*names);
    if (!labels) fields.fail("id2label", R"(expected an object of numbers from 0 and names, {"0": "no", "1": "yes"})");
    config.labels = *labels;
  }
  config.has_own_labels = config.labels != made_up_labels(static_cast<int64_t>(config.labels.size()));
  const std::string problem = fields.word("problem_type", "");
  if (!problem.empty()) config.problem_type = problem;
  if (!config.problem_type.is_known() || problem == "auto")
    fields.fail("problem_type", "expected regression, single_label_classification or multi_label_classification, got ",
                problem);
}

void check_encoder_sizes(const EncoderConfig& config, const ConfigFields& fields) {
  if (config.hidden % config.heads != 0)
    fields.fail("hidden_size", config.heads, " attention heads do not divide ", config.hidden);
  if (config.padding_token >= config.vocabulary)
    fields.fail("pad_token_id", "is ", config.padding_token, ", and the vocabulary has ", config.vocabulary, " tokens");
  if (config.most_tokens() < 1)
    fields.fail("max_position_embeddings", "is ", config.positions, ", and the first token is at ",
                config.padding_token + 1);
  for (const double rate : {config.attention_dropout, config.embedding_dropout, config.attention_output_dropout,
                            config.output_dropout, config.sequence_head.dropout, config.token_dropout})
    if (rate >= 1) fields.fail("dropout", "a rate is ", rate, "; it is below 1");
  const auto hidden = static_cast<double>(config.hidden);
  const double of_layer = hidden * (4 * hidden + 2 * static_cast<double>(config.intermediate));
  const double all =
      static_cast<double>(config.vocabulary + config.position_rows()) * static_cast<double>(config.embedding) +
      of_layer * static_cast<double>(config.layers);
  if (all > kMostEncoderParameters) fields.fail("hidden_size", "the sizes give more than ", all, " parameters");
}

}  // namespace

std::vector<std::string> made_up_labels(int64_t count) {
  std::vector<std::string> labels;
  for (int64_t i = 0; i < count; ++i) labels.push_back("LABEL_" + std::to_string(i));
  return labels;
}

std::vector<std::string> encoder_families() {
  std::vector<std::string> names;
  for (const EncoderFamily& family : encoder_family_table()) names.emplace_back(family.name);
  return names;
}

EncoderConfig encoder_config(const nlohmann::ordered_json& json, const std::string& file,
                             const std::vector<std::string>& ignored_fields) {
  ConfigFields fields(json, file + ": ");
  const std::string type = fields.word("model_type");
  const std::vector<std::string> known = encoder_families();
  const auto place = std::ranges::find(known, type);
  if (place == known.end()) {
    const std::string names = joined(known);
    fields.fail("model_type", "levin has no encoder of the type ", type, did_you_mean(type, known), "; it knows ",
                names, "; for a language model take CausalLM");
  }
  check_encoder_fields(fields);
  EncoderConfig config = encoder_family_table()[static_cast<size_t>(place - known.begin())].read(fields);
  config.family = type;
  config.initializer_range = fields.number("initializer_range", 0.02);
  read_labels(config, fields);
  check_encoder_sizes(config, fields);
  fields.check_all_read(ignored_fields);
  return config;
}

}  // namespace levin::nn
