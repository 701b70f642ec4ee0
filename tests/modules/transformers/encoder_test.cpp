#include <ATen/CPUGeneratorImpl.h>
#include <levin/core/state/json_file.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/registry.h>
#include <levin/modules/transformers/sentence_encoder.h>
#include <levin/modules/transformers/sequence_classifier.h>
#include <levin/modules/transformers/token_classifier.h>
#include <torch/types.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/nn/recording_sink.h"
#include "tests/modules/transformers/small_encoder.h"

using levin::Batch;
using levin::UsageError;
using levin::nn::SentenceEncoder;
using levin::nn::SequenceClassifier;
using levin::nn::TokenClassifier;

namespace {

std::string refused_encoder_config(const std::string& type, const Json& changes) {
  Json json = small_encoder_config(type);
  json.update(changes);
  return error_text<UsageError>([&] { levin::nn::encoder_config(json, "config.json"); });
}

/// Two texts, the second with three tokens of padding.
Batch two_texts(const at::Tensor& target = {}) {
  const at::Tensor tokens = torch::randint(4, 20, {2, 8}, at::detail::createCPUGenerator(2), torch::kLong);
  at::Tensor mask = at::ones({2, 8}, at::kLong);
  mask[1].narrow(0, 5, 3).fill_(0);
  Batch batch(tokens, target);
  batch.set("attention_mask", mask);
  return batch;
}

}  // namespace

TEST_CASE("an encoder's config that changes what levin computes is refused by the field's name") {
  CHECK(contains(refused_encoder_config("bert", {{"position_embedding_type", "relative_key"}}),
                 "position_embedding_type: is"));
  CHECK(contains(refused_encoder_config("bert", {{"is_decoder", true}}), "is_decoder: is true"));
  CHECK(contains(refused_encoder_config("bert", {{"odd_field", 3}}), "the fields odd_field change"));
  CHECK(contains(refused_encoder_config("bert", {{"hidden_act", "mish"}}), "hidden_act: levin does not compute mish"));
  CHECK(contains(refused_encoder_config("bert", {{"num_attention_heads", 3}}), "3 attention heads do not divide 16"));
  CHECK(contains(refused_encoder_config("bert", {{"hidden_dropout_prob", 1}}), "a rate is 1; it is below 1"));
  CHECK(contains(refused_encoder_config("bert", {{"id2label", {{"0", "a"}, {"2", "b"}}}}),
                 "id2label: expected an object"));
  CHECK(contains(refused_encoder_config("bert", {{"id2label", {{"0", 1}}}}), "id2label: expected an object"));
  CHECK(contains(refused_encoder_config("bert", {{"problem_type", "ranking"}}), "problem_type: expected regression"));
  CHECK(contains(refused_encoder_config("roberta", {{"max_position_embeddings", 2}}), "the first token is at 2"));
  CHECK(contains(refused_encoder_config("roberta", {{"pad_token_id", 20}}), "the vocabulary has 20 tokens"));
  CHECK(contains(refused_encoder_config("mpnet", {{"relative_attention_num_buckets", 16}}),
                 "relative_attention_num_buckets"));
  CHECK(contains(refused_encoder_config("modernbert", {{"layer_types", {"full_attention"}}}),
                 "layer_types: names 1 layers, and num_hidden_layers is 4"));
  CHECK(
      contains(refused_encoder_config("modernbert", {{"classifier_pooling", "max"}}), "expected cls or mean, got max"));
  CHECK(contains(refused_encoder_config("modernbert", {{"rope_parameters", {{"half_attention", Json::object()}}}}),
                 "half_attention"));
  CHECK(contains(refused_encoder_config("modernbert", {{"hidden_size", 12}}), "an even number of at least 2"));
  CHECK(contains(refused_encoder_config("bert", {{"hidden_size", 1 << 30}, {"vocab_size", 1 << 30}}), "parameters"));
  CHECK(contains(error_text<UsageError>([] { levin::nn::encoder_config({{"model_type", "bart"}}, "config.json"); }),
                 "levin has no encoder of the type bart"));
}

TEST_CASE("a folder without a head gets a new one, and the number and names of its classes are the options'") {
  for (const std::string& family : levin::nn::encoder_families()) {
    const SmallEncoder folder(family);
    SequenceClassifier module({.encoder = {.folder = folder.path()}, .classes = {.labels = {"no", "yes", "well"}}});
    CHECK(module.labels() == std::vector<std::string>{"no", "yes", "well"});
    module.eval();
    const at::Tensor chances = module.predict_step(two_texts(), 0).input();
    REQUIRE(chances.sizes() == std::vector<int64_t>{2, 3});
    CHECK(at::allclose(chances.sum(1), at::ones(2)));
    const TemporaryFolder saved;
    module.save_pretrained(saved.path());
    const Json json = levin::read_json_file(saved / "config.json");
    CHECK(json["id2label"] == Json({{"0", "no"}, {"1", "yes"}, {"2", "well"}}));
    CHECK(json["label2id"] == Json({{"no", 0}, {"yes", 1}, {"well", 2}}));
    SequenceClassifier again({.encoder = {.folder = saved.path().string()}});
    again.eval();
    CHECK(again.labels() == module.labels());
    CHECK(again.predict_step(two_texts(), 0).input().equal(chances));
    // A head of another size is made again if the options ask for it.
    const auto other = [&](std::optional<int64_t> count) {
      SequenceClassifier made({.encoder = {.folder = saved.path().string()}, .classes = {.num_labels = count}});
      return made.labels();
    };
    CHECK(other(5) == levin::nn::made_up_labels(5));
    CHECK(other(3) == module.labels());
    Json damaged = json;
    damaged["id2label"] = {{"0", "no"}, {"1", "yes"}};
    write_text(saved / "config.json", damaged.dump());
    CHECK(contains(error_text<UsageError>([&] { other({}); }), "mismatched"));
  }
}

TEST_CASE("labels that contradict each other are refused") {
  const SmallEncoder folder("bert");
  const auto refused = [&](const levin::nn::LabelOptions& classes) {
    return error_text<UsageError>(
        [&] { SequenceClassifier({.encoder = {.folder = folder.path()}, .classes = classes}); });
  };
  CHECK(contains(refused({.num_labels = 3, .labels = {"a", "b"}}), "model.num_labels: is 3, and model.labels has 2"));
  CHECK(contains(refused({.labels = {"a", "a"}}), "model.labels: names a class twice"));
}

TEST_CASE("the data's names of classes are taken where nobody else has said some") {
  const SmallEncoder folder("bert");
  SequenceClassifier plain({.encoder = {.folder = folder.path()}});
  plain.name_classes({"x", "y", "z"});
  CHECK(plain.labels() == levin::nn::made_up_labels(2));
  plain.name_classes({"x", "y"});
  CHECK(plain.labels() == std::vector<std::string>{"x", "y"});
  SequenceClassifier named({.encoder = {.folder = folder.path()}, .classes = {.labels = {"a", "b"}}});
  named.name_classes({"x", "y"});
  CHECK(named.labels() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("what a classifier of texts learns follows from the options and from the target") {
  const SmallEncoder folder("bert");
  const auto made = [&](int64_t labels, const std::string& problem = "auto") {
    auto module = std::make_unique<SequenceClassifier>(SequenceClassifier::Options{
        .encoder = {.folder = folder.path()}, .classes = {.num_labels = labels}, .problem_type = problem});
    module->eval();
    return module;
  };
  const at::Tensor logits = torch::tensor({{1.0f, -2.0f, 0.5f}, {0.0f, 3.0f, 1.0f}});
  const double of_class = made(3)->loss(logits, torch::tensor({0, 1}, at::kLong)).item<double>();
  CHECK(std::abs(of_class + (logits.log_softmax(1)[0][0] + logits.log_softmax(1)[1][1]).item<double>() / 2) < 1e-6);
  const at::Tensor several = torch::tensor({{1.0f, 0.0f, 1.0f}, {0.0f, 0.0f, 1.0f}});
  const at::Tensor chance = logits.sigmoid();
  const double wanted = -(several * chance.log() + (1 - several) * (1 - chance).log()).mean().item<double>();
  CHECK(std::abs(made(3)->loss(logits, several).item<double>() - wanted) < 1e-6);
  CHECK(std::abs(made(3, "regression")->loss(logits, several).item<double>() -
                 (logits - several).square().mean().item<double>()) < 1e-6);
  const at::Tensor numbers = torch::tensor({0.5f, -1.0f});
  CHECK(std::abs(made(1)->loss(logits.narrow(1, 0, 1), numbers).item<double>() -
                 (logits.select(1, 0) - numbers).square().mean().item<double>()) < 1e-6);
  CHECK(contains(error_text<UsageError>([&] { made(3)->loss(logits, torch::tensor({0, 3}, at::kLong)); }),
                 "set model.num_labels"));
  CHECK(contains(error_text<UsageError>([&] { made(3)->loss(logits, numbers); }), "the target is [2]"));
}

TEST_CASE("a classifier of tokens counts the targets that are not -100") {
  const SmallEncoder folder("distilbert");
  TokenClassifier module({.encoder = {.folder = folder.path()}, .classes = {.num_labels = 4}});
  module.eval();
  at::Tensor target = torch::randint(0, 4, {2, 8}, at::detail::createCPUGenerator(3), torch::kLong);
  target.narrow(1, 0, 6).fill_(-100);
  const Batch batch = two_texts(target);
  const at::Tensor logits = module.forward(batch.input(), {.attention_mask = batch["attention_mask"]});
  const at::Tensor counted = target.ne(-100);
  const at::Tensor chances = logits.log_softmax(2).gather(2, target.clamp_min(0).unsqueeze(2)).squeeze(2);
  CHECK(std::abs(module.loss(logits, target).item<double>() + chances.masked_select(counted).mean().item<double>()) <
        1e-6);
  CHECK(module.loss(logits, at::full({2, 8}, -100, at::kLong)).item<double>() == 0);
  CHECK(contains(error_text<UsageError>([&] { module.loss(logits, target + 104); }), "set model.num_labels"));
  CHECK(contains(error_text<UsageError>([&] { module.loss(logits, target.narrow(1, 0, 3)); }), "one for each token"));
}

TEST_CASE("padding does not change what an encoder says of the tokens, and too many of them are refused") {
  for (const std::string& family : levin::nn::encoder_families()) {
    const SmallEncoder folder(family);
    SentenceEncoder module({.encoder = {.folder = folder.path()}});
    module.eval();
    const at::NoGradGuard no_grad;
    const Batch batch = two_texts();
    const bool counts = module.config().counts_after_padding;
    at::Tensor tokens = batch.input().clone();
    tokens[1].narrow(0, 5, 3).fill_(counts ? module.config().padding_token : 0);
    const at::Tensor together = module.forward(tokens, {.attention_mask = batch["attention_mask"]});
    const at::Tensor alone = module.forward(tokens.narrow(0, 1, 1).narrow(1, 0, 5));
    CHECK(at::allclose(together[1], alone[0], 1e-4, 1e-5));
    const int64_t most = module.config().most_tokens();
    module.forward(at::full({1, most}, 5, at::kLong));
    CHECK(contains(error_text<UsageError>([&] { module.forward(at::full({1, most + 1}, 5, at::kLong)); }),
                   "set data.max_length"));
    CHECK(contains(error_text<UsageError>([&] { module.forward(at::full({1, 2}, 20, at::kLong)); }), "token id 20"));
  }
}

TEST_CASE("dropout is as the config says, in training alone") {
  for (const std::string field : {"hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"}) {
    const SmallEncoder folder("bert", {{field, 0.5}});
    SequenceClassifier module({.encoder = {.folder = folder.path()}});
    const Batch batch = two_texts();
    CHECK_FALSE(module.forward(batch.input()).equal(module.forward(batch.input())));
    module.eval();
    CHECK(module.forward(batch.input()).equal(module.forward(batch.input())));
  }
}

TEST_CASE("weights are float32, or with dtype file as the files have them, and are written so") {
  SmallEncoder folder("electra");
  for (auto& [name, value] : folder.weights.to_dict()) value = value.to_tensor().to(at::kBFloat16);
  folder.write();
  const TemporaryFolder saved;
  SequenceClassifier({.encoder = {.folder = folder.path()}}).save_pretrained(saved.path());
  CHECK(levin::read_json_file(saved / "config.json")["dtype"] == "float32");
  SequenceClassifier narrow({.encoder = {.folder = folder.path(), .dtype = "file"}});
  for (const at::Tensor& parameter : narrow.parameters()) CHECK(parameter.scalar_type() == at::kBFloat16);
  narrow.save_pretrained(saved.path());
  CHECK(levin::read_json_file(saved / "config.json")["dtype"] == "bfloat16");
  CHECK(narrow.loss(narrow.forward(two_texts().input()), at::zeros({2}, at::kLong)).scalar_type() == at::kFloat);
}

TEST_CASE("a new head is trained whole beside adapters") {
  const SmallEncoder folder("roberta");
  SequenceClassifier::Options options{.encoder = {.folder = folder.path()}};
  options.encoder.initial.adapter = {"LoRA"};
  const SequenceClassifier module(options);
  size_t adapters = 0, heads = 0;
  for (const auto& item : module.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    const bool is_adapter = contains(item.key(), ".lora_");
    (is_adapter ? adapters : heads) += 1;
    CHECK(is_adapter == item.key().starts_with("roberta."));
  }
  CHECK(adapters == 2 * 2 * 6);  // six layers in each of two blocks
  CHECK(heads == 4);
}

TEST_CASE("sentences are pooled as the folder of sentence-transformers says") {
  const SmallEncoder folder("mpnet");
  const auto write_modules = [&](const Json& modules, const Json& pooling) {
    write_text(folder.folder / "modules.json", modules.dump());
    std::filesystem::create_directories(folder.folder / "1_Pooling");
    write_text(folder.folder / "1_Pooling/config.json", pooling.dump());
  };
  const Json transformer = {
      {"idx", 0}, {"name", "0"}, {"path", ""}, {"type", "sentence_transformers.models.Transformer"}};
  const Json pooling = {{"idx", 1}, {"path", "1_Pooling"}, {"type", "sentence_transformers.models.Pooling"}};
  const Json normalize = {{"idx", 2}, {"path", "2_Normalize"}, {"type", "sentence_transformers.models.Normalize"}};
  const auto opened = [&] {
    return std::make_unique<SentenceEncoder>(SentenceEncoder::Options{.encoder = {.folder = folder.path()}});
  };
  const auto refused = [&] { return error_text<UsageError>([&] { opened(); }); };
  write_modules({transformer, pooling, normalize},
                {{"pooling_mode_cls_token", true}, {"pooling_mode_mean_tokens", false}});
  const auto module = opened();
  module->eval();
  const Batch batch = two_texts();
  const at::Tensor hidden = module->encoder->forward(batch.input(), {.attention_mask = batch["attention_mask"]});
  const at::Tensor vectors = module->predict_step(batch, 0).input();
  CHECK(at::allclose(vectors, hidden.select(1, 0) / hidden.select(1, 0).norm(2, {1}, true), 1e-5, 1e-6));
  const TemporaryFolder saved;
  module->save_pretrained(saved.path());
  const levin::nn::Pooling again = levin::nn::read_pooling(saved.path());
  CHECK((again.kind == levin::nn::PoolingKind::Cls && again.normalizes));

  write_modules({transformer, pooling}, {{"pooling_mode_max_tokens", true}});
  CHECK(contains(refused(), "pooling_mode_max_tokens: is true"));
  write_modules({transformer, pooling}, {{"pooling_mode", "lasttoken"}});
  CHECK(contains(refused(), "levin does not compute lasttoken"));
  write_modules({transformer, {{"type", "sentence_transformers.models.Dense"}, {"path", "2_Dense"}}}, Json::object());
  CHECK(contains(refused(), "[1].type: levin does not compute sentence_transformers.models.Dense"));
  Json outside = pooling;
  outside["path"] = "../elsewhere";
  write_modules({transformer, outside}, Json::object());
  CHECK(contains(refused(), "[1].path: the name of a folder was expected"));
  write_modules(Json::object(), Json::object());
  CHECK(contains(refused(), "modules.json: a list of modules was expected"));
}

TEST_CASE("pairs without scores are told apart in their batch, and a batch without pairs is refused") {
  const SmallEncoder folder("bert");
  SentenceEncoder module({.encoder = {.folder = folder.path()}, .scale = 10});
  module.eval();
  Batch batch = two_texts();
  CHECK(contains(error_text<UsageError>([&] { module.loss(batch); }), "the batch has no second_input"));
  batch.set("second_input", batch.input().flip({0}));
  batch.set("second_attention_mask", batch["attention_mask"].flip({0}));
  const at::Tensor vectors = module.predict_step(batch, 0).input();
  const double cosine = at::cosine_similarity(vectors[0], vectors[1], 0).item<double>();
  // Each first text is the same as the other second one.
  const double expected = std::log(std::exp(10.0) + std::exp(10 * cosine)) - 10 * cosine;
  CHECK(std::abs(module.loss(batch).item<double>() - expected) < 1e-4);
  module.options.loss = "cosine";
  CHECK(contains(error_text<UsageError>([&] { module.loss(batch); }), "cosine needs scores"));
  batch.set("target", torch::tensor({1.0f, 0.0f}));
  const double error = (std::pow(cosine - 1, 2) + std::pow(cosine, 2)) / 2;
  CHECK(std::abs(module.loss(batch).item<double>() - error) < 1e-5);
}
