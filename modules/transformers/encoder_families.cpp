#include <levin/modules/transformers/encoder_families.h>
#include <levin/modules/transformers/family_parts.h>

namespace levin::nn {
namespace {

constexpr int64_t kMostEncoderLayers = 10'000, kMostEncoderHeads = 1 << 16;

/// What the families that are like BERT have in common. `base`: the name of the encoder in a model with a head.
EncoderConfig read_bert_like(ConfigFields& fields, const char* class_name, const char* base) {
  EncoderConfig config;
  config.class_name = class_name;
  config.names.base = base;
  config.vocabulary = fields.whole("vocab_size", 30522);
  config.hidden = config.embedding = fields.whole("hidden_size", 768);
  config.layers = fields.whole("num_hidden_layers", 12, 1, kMostEncoderLayers);
  config.heads = fields.whole("num_attention_heads", 12, 1, kMostEncoderHeads);
  config.intermediate = fields.whole("intermediate_size", 3072);
  config.activation = read_activation(fields, "hidden_act", "gelu");
  config.positions = fields.whole("max_position_embeddings", 512);
  config.norm_eps = fields.number("layer_norm_eps", 1e-12);
  const double dropout = fields.number("hidden_dropout_prob", 0.1);
  config.embedding_dropout = config.attention_output_dropout = config.output_dropout = dropout;
  config.attention_dropout = fields.number("attention_probs_dropout_prob", 0.1);
  config.sequence_head.dropout = config.token_dropout = dropout;
  return config;
}

void read_token_types(EncoderConfig& config, ConfigFields& fields) {
  config.token_types = fields.whole("type_vocab_size", 2);
  fields.require("position_embedding_type", "absolute");
}

/// Reads the dropout of the heads, which is that of the layers where the file says nothing.
void read_classifier_dropout(EncoderConfig& config, ConfigFields& fields) {
  const std::optional<double> rate = fields.optional_number("classifier_dropout");
  if (rate) config.sequence_head.dropout = config.token_dropout = *rate;
}

void use_dense_head(EncoderConfig& config, HeadActivation activation) {
  config.sequence_head.dense = "classifier.dense";
  config.sequence_head.output = "classifier.out_proj";
  config.sequence_head.activation = activation;
  config.sequence_head.drops_before = true;
}

EncoderConfig read_bert(ConfigFields& fields) {
  EncoderConfig config = read_bert_like(fields, "Bert", "bert");
  read_token_types(config, fields);
  read_classifier_dropout(config, fields);
  config.padding_token = fields.optional_whole("pad_token_id", 0, 0).value_or(-1);
  config.sequence_head.dense = "bert.pooler.dense";
  return config;
}

EncoderConfig read_electra(ConfigFields& fields) {
  EncoderConfig config = read_bert_like(fields, "Electra", "electra");
  config.embedding = fields.whole("embedding_size", 128);
  config.hidden = fields.whole("hidden_size", 256);
  config.heads = fields.whole("num_attention_heads", 4, 1, kMostEncoderHeads);
  config.intermediate = fields.whole("intermediate_size", 1024);
  read_token_types(config, fields);
  read_classifier_dropout(config, fields);
  config.padding_token = fields.optional_whole("pad_token_id", 0, 0).value_or(-1);
  use_dense_head(config, HeadActivation::Gelu);
  fields.skip("summary_type summary_use_proj summary_activation summary_last_dropout");
  return config;
}

EncoderConfig read_roberta_as(ConfigFields& fields, const char* class_name) {
  EncoderConfig config = read_bert_like(fields, class_name, "roberta");
  read_token_types(config, fields);
  read_classifier_dropout(config, fields);
  config.padding_token = fields.whole("pad_token_id", 1, 0);
  config.counts_after_padding = true;
  use_dense_head(config, HeadActivation::Tanh);
  return config;
}

EncoderConfig read_roberta(ConfigFields& fields) { return read_roberta_as(fields, "Roberta"); }
EncoderConfig read_xlm_roberta(ConfigFields& fields) { return read_roberta_as(fields, "XLMRoberta"); }
EncoderConfig read_camembert(ConfigFields& fields) { return read_roberta_as(fields, "Camembert"); }

EncoderConfig read_mpnet(ConfigFields& fields) {
  EncoderConfig config = read_bert_like(fields, "MPNet", "mpnet");
  EncoderNames& names = config.names;
  names.token_types.clear();
  names.relative_positions = "encoder.relative_attention_bias";
  names.query = "attention.attn.q";
  names.key = "attention.attn.k";
  names.value = "attention.attn.v";
  names.attention_output = "attention.attn.o";
  names.attention_norm = "attention.LayerNorm";
  // The classes have the padding token 1, and 32 kinds of distances, whatever the file says.
  config.padding_token = 1;
  config.counts_after_padding = true;
  fields.require("relative_attention_num_buckets", 32);
  config.relative_buckets = 32;
  fields.skip("pad_token_id");
  use_dense_head(config, HeadActivation::Tanh);
  return config;
}

EncoderConfig read_distilbert(ConfigFields& fields) {
  EncoderConfig config;
  config.class_name = "DistilBert";
  config.names = {.base = "distilbert",
                  .token_types = "",
                  .layers = "transformer.layer",
                  .query = "attention.q_lin",
                  .key = "attention.k_lin",
                  .value = "attention.v_lin",
                  .attention_output = "attention.out_lin",
                  .attention_norm = "sa_layer_norm",
                  .up = "ffn.lin1",
                  .down = "ffn.lin2",
                  .output_norm = "output_layer_norm"};
  config.vocabulary = fields.whole("vocab_size", 30522);
  config.hidden = config.embedding = fields.whole("dim", 768);
  config.layers = fields.whole("n_layers", 6, 1, kMostEncoderLayers);
  config.heads = fields.whole("n_heads", 12, 1, kMostEncoderHeads);
  config.intermediate = fields.whole("hidden_dim", 3072);
  config.activation = read_activation(fields, "activation", "gelu");
  config.positions = fields.whole("max_position_embeddings", 512);
  config.padding_token = fields.optional_whole("pad_token_id", 0, 0).value_or(-1);
  config.embedding_dropout = config.output_dropout = config.token_dropout = fields.number("dropout", 0.1);
  config.attention_dropout = fields.number("attention_dropout", 0.1);
  config.sequence_head = {.dense = "pre_classifier",
                          .activation = HeadActivation::Relu,
                          .dropout = fields.number("seq_classif_dropout", 0.2)};
  fields.skip("sinusoidal_pos_embds qa_dropout");
  return config;
}

}  // namespace

std::span<const EncoderFamily> encoder_family_table() {
  static constexpr EncoderFamily all[] = {
      {"bert", read_bert},       {"camembert", read_camembert},    {"distilbert", read_distilbert},
      {"electra", read_electra}, {"modernbert", read_modernbert},  {"mpnet", read_mpnet},
      {"roberta", read_roberta}, {"xlm-roberta", read_xlm_roberta}};
  return all;
}

}  // namespace levin::nn
