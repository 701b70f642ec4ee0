#include <levin/modules/images/pretrained_image_classifier.h>
#include <levin/core/state/safetensors.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/nn/resnet.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/registry.h>
#include <levin/modules/weights.h>
#include <torch/types.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/modules/nn/recording_sink.h"
#include "tests/temporary_folder.h"

using levin::UsageError;
using levin::nn::PretrainedImageClassifier;
using Json = nlohmann::ordered_json;

namespace {

at::Tensor numbers_of(at::IntArrayRef sizes, uint64_t seed, double spread = 0.2) {
  return at::empty(sizes).normal_(0, spread, at::detail::createCPUGenerator(seed));
}

/// A folder with a config.json and weights.
struct ModelFolder {
  void write() const {
    std::ofstream(folder / "config.json") << config.dump(2) << "\n";
    levin::save_safetensors(weights, folder / "model.safetensors");
  }
  std::string path() const { return folder.path().string(); }
  std::string refused() const {
    write();
    return error_text<UsageError>([&] { PretrainedImageClassifier({.folder = path()}); });
  }
  void add(const std::string& name, at::IntArrayRef sizes) { weights[name] = numbers_of(sizes, ++seed); }
  void erase(const std::string& name) {
    std::erase_if(weights.to_dict(),
                  [&](const levin::State::Item& item) { return levin::to_text(item.first) == name; });
  }

  TemporaryFolder folder = {};
  Json config = {};
  levin::State weights = levin::State::dict();
  uint64_t seed = 0;
};

/// A vision transformer of transformers with one block, for images of 8x8 pixels.
struct VisionFolder : ModelFolder {
  VisionFolder() {
    config = {{"model_type", "vit"},
              {"hidden_size", 6},
              {"num_hidden_layers", 1},
              {"num_attention_heads", 2},
              {"intermediate_size", 8},
              {"image_size", 8},
              {"patch_size", 4},
              {"dtype", "float32"},
              {"id2label", {{"0", "cat"}, {"1", "dog"}, {"2", "fish"}}}};
    add("vit.embeddings.cls_token", {1, 1, 6});
    add("vit.embeddings.position_embeddings", {1, 5, 6});
    add("vit.embeddings.patch_embeddings.projection.weight", {6, 3, 4, 4});
    add("vit.embeddings.patch_embeddings.projection.bias", {6});
    const auto linear = [&](const std::string& name, int64_t out, int64_t in) {
      add(name + ".weight", {out, in});
      add(name + ".bias", {out});
    };
    const auto norm = [&](const std::string& name) {
      weights[name + ".weight"] = at::ones({6});
      weights[name + ".bias"] = at::zeros({6});
    };
    const std::string block = "vit.encoder.layer.0.";
    for (const char* const name : {"query", "key", "value"}) linear(block + "attention.attention." + name, 6, 6);
    linear(block + "attention.output.dense", 6, 6);
    linear(block + "intermediate.dense", 8, 6);
    linear(block + "output.dense", 6, 8);
    norm(block + "layernorm_before");
    norm(block + "layernorm_after");
    norm("vit.layernorm");
    linear("classifier", 3, 6);
  }
};

/// timm's resnet18, with the weights of levin's own.
struct ResNetFolder : ModelFolder {
  explicit ResNetFolder(const levin::nn::ResNet18& own) {
    config = {{"architecture", "resnet18"},
              {"num_classes", 5},
              {"pretrained_cfg", {{"input_size", {3, 32, 32}}, {"num_classes", 5}}}};
    weights = levin::module_state_dict(*own);
    write();
  }
};

}  // namespace

TEST_CASE("resnet18 of a folder of timm computes and trains as levin's own to the bit") {
  levin::nn::ResNet18 own(levin::nn::ResNet18Options{.num_classes = 5});
  const ResNetFolder folder(own);
  PretrainedImageClassifier module({.folder = folder.path()});
  CHECK(module.new_parameters().empty());
  CHECK(module.labels().size() == 5);
  const at::Tensor images = numbers_of({4, 3, 32, 32}, 7, 1), target = torch::tensor({0, 3, 1, 4}, torch::kLong);
  levin::optim::SGD first(own->parameters(), {.lr = 0.05}), second(module.parameters(), {.lr = 0.05});
  for (int step = 0; step < 3; ++step) {
    const at::Tensor expected = torch::cross_entropy_loss(own->forward(images), target);
    const at::Tensor got = torch::cross_entropy_loss(module.forward(images), target);
    CHECK(got.equal(expected));
    expected.backward();
    got.backward();
    first.step();
    second.step();
    first.zero_grad();
    second.zero_grad();
  }
  const levin::State trained = levin::module_state_dict(module), wanted = levin::module_state_dict(*own);
  CHECK(trained.size() == wanted.size());
  for (const auto& [name, value] : wanted.to_dict()) CHECK(trained.at(name).to_tensor().equal(value.to_tensor()));
  own->eval();
  module.eval();
  CHECK(module.forward(images).equal(own->forward(images)));
  CHECK(module.predict_step(levin::Batch(images), 0).input().allclose(own->forward(images).softmax(1)));
}

TEST_CASE("what was read is written again byte for byte") {
  const VisionFolder model;
  model.write();
  const TemporaryFolder saved;
  PretrainedImageClassifier module({.folder = model.path()});
  CHECK(module.labels() == std::vector<std::string>{"cat", "dog", "fish"});
  std::ofstream(model.folder / "preprocessor_config.json") << "{}";
  module.save_pretrained(saved.path());
  CHECK(read_bytes(saved / "config.json") == read_bytes(model.folder / "config.json"));
  CHECK(std::filesystem::exists(saved / "preprocessor_config.json"));
  PretrainedImageClassifier again({.folder = saved.path().string()});
  const TemporaryFolder third;
  again.save_pretrained(third.path());
  CHECK(read_bytes(saved / "model.safetensors") == read_bytes(third / "model.safetensors"));
  const auto parameters = again.named_parameters();
  for (const auto& item : module.named_parameters()) CHECK(item.value().equal(parameters[item.key()]));
}

TEST_CASE("another number of classes makes a new head, whose classes are written") {
  const VisionFolder model;
  model.write();
  PretrainedImageClassifier module({.folder = model.path(), .num_labels = 2});
  CHECK(module.new_parameters() == std::vector<std::string>{"classifier.weight", "classifier.bias"});
  CHECK(module.labels() == std::vector<std::string>{"LABEL_0", "LABEL_1"});
  CHECK(module.forward(numbers_of({2, 3, 8, 8}, 3)).sizes() == at::IntArrayRef{2, 2});
  module.name_classes({"ant", "bee"});
  module.name_classes({"other", "names"});  // those that it has stay
  const TemporaryFolder saved;
  module.save_pretrained(saved.path());
  const Json config = Json::parse(read_bytes(saved / "config.json"));
  CHECK(config["id2label"] == Json{{"0", "ant"}, {"1", "bee"}});
  CHECK(config["label2id"] == Json{{"ant", 0}, {"bee", 1}});
  CHECK(PretrainedImageClassifier({.folder = saved.path().string()}).labels() == module.labels());

  PretrainedImageClassifier named({.folder = model.path(), .labels = {"a", "b", "c"}});
  CHECK(named.new_parameters().empty());
  CHECK(named.labels() == std::vector<std::string>{"a", "b", "c"});
  CHECK(contains(error_text<UsageError>(
                     [&] { PretrainedImageClassifier({.folder = model.path(), .num_labels = 2, .labels = {"a"}}); }),
                 "model.num_labels: is 2, and model.labels has 1 names"));

  const ResNetFolder timm(levin::nn::ResNet18(levin::nn::ResNet18Options{.num_classes = 5}));
  PretrainedImageClassifier fewer({.folder = timm.path(), .labels = {"ant", "bee"}});
  fewer.save_pretrained(saved.path());
  const Json written = Json::parse(read_bytes(saved / "config.json"));
  CHECK(written["num_classes"] == 2);
  CHECK(written["pretrained_cfg"]["num_classes"] == 2);
  CHECK(written["label_names"] == Json{"ant", "bee"});
  CHECK(!written.contains("dtype"));
  CHECK(PretrainedImageClassifier({.folder = saved.path().string()}).labels() == fewer.labels());
}

TEST_CASE("the folder of a bare network gets a head, and its pooler is left") {
  VisionFolder model;
  model.erase("classifier.weight");
  model.erase("classifier.bias");
  levin::State bare = levin::State::dict();
  for (const auto& [name, value] : model.weights.to_dict())
    bare[levin::to_text(name).substr(std::string("vit.").size())] = value;
  bare["pooler.dense.weight"] = at::zeros({6, 6});
  bare["pooler.dense.bias"] = at::zeros({6});
  model.weights = bare;
  model.config.erase("id2label");
  CHECK(contains(model.refused(), "model.num_labels: "));
  const PretrainedImageClassifier module({.folder = model.path(), .num_labels = 4});
  CHECK(module.new_parameters().size() == 2);
}

TEST_CASE("folders that do not fit are refused by what is wrong") {
  CHECK(error_text<UsageError>([] { PretrainedImageClassifier({.folder = ""}); }) ==
        "model.folder: is not set; name one with config.json and *.safetensors");
  CHECK(
      contains(error_text<UsageError>([] { PretrainedImageClassifier({.folder = "no/such"}); }), "no folder no/such"));
  const auto with = [](const Json& changes) {
    VisionFolder model;
    model.config.update(changes);
    return model.refused();
  };
  CHECK(with(Json::object()) == "no error");
  CHECK(contains(with({{"model_type", "swin"}}), "levin classifies images by no swin"));
  CHECK(contains(with({{"hidden_act", "mish"}}), "hidden_act: levin does not compute mish"));
  CHECK(contains(with({{"use_rope", true}}), "the fields use_rope change"));
  CHECK(contains(with({{"patch_size", 3}}), "patches of 3 pixels do not divide an image of 8"));
  CHECK(contains(with({{"num_attention_heads", 4}}), "4 heads do not divide 6"));
  CHECK(contains(with({{"image_size", {8, 8, 8}}}), "image_size: expected a number or two"));
  CHECK(contains(with({{"problem_type", "regression"}}), "problem_type: is regression"));
  CHECK(contains(with({{"id2label", {{"0", "cat"}, {"2", "dog"}}}}), "id2label: expected an object of numbers"));
  CHECK(contains(with({{"id2label", {{"0", "cat"}}}}), "has 1 classes, and classifier.weight has 3"));
  CHECK(contains(with({{"hidden_dropout_prob", 1.5}}), "hidden_dropout_prob: is 1.5; a rate is below 1"));
  // Sizes that would ask for more memory than there is are compared with the files first.
  CHECK(contains(with({{"intermediate_size", 2'000'000'000}}), "(is [8, 6] of Float, needs [2000000000, 6])"));
  CHECK(contains(with({{"num_hidden_layers", 10'000}}), "missing: vit.encoder.layer.1.layernorm_before.weight"));

  VisionFolder model;
  model.erase("vit.encoder.layer.0.output.dense.weight");
  model.weights["vit.encoder.layer.0.intermediate.dense.bias"] = at::zeros({8}, at::kInt);
  model.weights["vit.more"] = at::zeros({1});
  const std::string text = model.refused();
  CHECK(contains(text, "the weights do not fit a vit"));
  CHECK(contains(text, "\n  missing: vit.encoder.layer.0.output.dense.weight"));
  CHECK(contains(text, "\n  unexpected: vit.more"));
  CHECK(contains(text, "intermediate.dense.bias (is [8] of Int, needs [8])"));
  std::ofstream(model.folder / "model.safetensors.index.json") << R"({"weight_map": {"a": "model-1.safetensors"}})";
  std::filesystem::remove(model.folder / "model.safetensors");
  CHECK(contains(error_text<UsageError>([&] { PretrainedImageClassifier({.folder = model.path()}); }),
                 "names 1 files that are not there: model-1.safetensors"));

  ModelFolder timm;
  timm.config = {{"architecture", "resnest50d"}, {"num_classes", 2}};
  CHECK(contains(timm.refused(), "architecture: levin does not know resnest50d; it knows resnet18"));
  timm.config = {{"architecture", "resnet18"}, {"num_classes", 2}, {"model_args", {{"stem_type", "deep"}}}};
  CHECK(contains(timm.refused(), "the fields model_args.stem_type change"));
  timm.config = {{"architecture", "vit_tiny_patch16_224"}, {"global_pool", "map"}};
  CHECK(contains(timm.refused(), "global_pool: is map"));
  timm.config = {{"architecture", "vit_base_patch16_clip_224"}};
  CHECK(contains(timm.refused(), "levin does not know vit_base_patch16_clip_224"));
}

TEST_CASE("images that the network does not take are refused") {
  const VisionFolder model;
  model.write();
  PretrainedImageClassifier module({.folder = model.path()});
  const auto with = [&](const at::Tensor& images) { return error_text<UsageError>([&] { module.forward(images); }); };
  CHECK(contains(with(torch::zeros({2, 3, 8, 12})), "a vit takes images [batch, 3, 8, 8]"));
  CHECK(contains(with(torch::zeros({2, 1, 8, 8})), "set data.preprocessor to"));
  CHECK(contains(with(torch::zeros({2, 3, 8, 8}, torch::kByte)), "of floating point"));
}

TEST_CASE("frozen parts stay, and adapters take the place of weights") {
  const VisionFolder model;
  model.write();
  PretrainedImageClassifier frozen({.folder = model.path(), .initial = {.frozen = {"vit"}}});
  for (const auto& item : frozen.named_parameters())
    CHECK(item.value().requires_grad() == item.key().starts_with("classifier"));
  levin::nn::PretrainedImageClassifierOptions options = {.folder = model.path()};
  options.initial.adapter = {"LoRA", levin::LoRAOptions{.targets = {"query", "value"}, .train = {"classifier"}}};
  PretrainedImageClassifier adapted(options);
  CHECK(levin::adapted_layers(adapted).size() == 2);
  adapted.forward(numbers_of({2, 3, 8, 8}, 5)).sum().backward();
  CHECK(adapted.named_parameters()["classifier.weight"].grad().defined());
  CHECK(!adapted.named_parameters()["vit.layernorm.weight"].grad().defined());
}

TEST_CASE("dropout and stochastic depth of config.json act in training alone") {
  VisionFolder model;
  model.config["hidden_dropout_prob"] = 0.5;
  model.write();
  PretrainedImageClassifier module({.folder = model.path()});
  const at::Tensor images = numbers_of({2, 3, 8, 8}, 5);
  CHECK(!module.forward(images).equal(module.forward(images)));
  module.eval();
  CHECK(module.forward(images).equal(module.forward(images)));
}

TEST_CASE("the classifier is registered by name, and logs loss and accuracy") {
  const VisionFolder model;
  model.write();
  auto& registry = levin::ModuleKind::registry();
  const levin::Schema& schema = registry.at("PretrainedImageClassifier", "model").schema();
  const auto options = schema.make();
  schema.set(options.get(), "model", Json{{"folder", model.path()}});
  const auto module = registry.entry("PretrainedImageClassifier", "model")(options.get());
  auto& classifier = dynamic_cast<PretrainedImageClassifier&>(*module);
  RecordingSink sink;
  levin::StepContext context;
  context.sink = &sink;
  levin::ModuleAccess::set_context(classifier, &context);
  classifier.eval();
  const at::Tensor images = numbers_of({4, 3, 8, 8}, 9);
  const at::Tensor target = classifier.forward(images).argmax(1);
  classifier.validation_step(levin::Batch(images, target), 0);
  CHECK(sink.values.at("val_acc") == 1);
  classifier.test_step(levin::Batch(images, (target + 1).remainder(3)), 0);
  CHECK(sink.values.at("test_acc") == 0);
  CHECK(sink.values.at("test_loss") > sink.values.at("val_loss"));
  levin::ModuleAccess::set_context(classifier, nullptr);
}
