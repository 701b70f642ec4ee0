#include <levin/modules/nn/image_classifier.h>
#include <levin/modules/registry.h>
#include <levin/modules/weights.h>
#include <torch/types.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/nn/recording_sink.h"
#include "tests/temporary_folder.h"

using levin::UsageError;
using levin::nn::ImageClassifier;
using levin::nn::ImageClassifierOptions;

namespace {

std::vector<std::string> names(const ImageClassifier& module) {
  std::vector<std::string> names;
  for (const auto& parameter : module.named_parameters()) names.push_back(parameter.key());
  return names;
}

}  // namespace

TEST_CASE("nets name their parameters as Python's Sequential does, and give logits") {
  const std::map<std::string, std::vector<std::string>> expected = {
      {"mlp", {"net.1.weight", "net.1.bias", "net.3.weight", "net.3.bias"}},
      {"mlp_bn", {"net.1.weight", "net.1.bias", "net.2.weight", "net.2.bias", "net.4.weight", "net.4.bias"}},
      {"lenet",
       {"net.0.weight", "net.0.bias", "net.3.weight", "net.3.bias", "net.7.weight", "net.7.bias", "net.9.weight",
        "net.9.bias"}},
  };
  for (const auto& [net, parameters] : expected) {
    INFO(net);
    ImageClassifier module(ImageClassifierOptions{.net = net, .hidden = 16});
    CHECK(names(module) == parameters);
    CHECK(module.forward(torch::rand({5, 1, 28, 28})).sizes() == std::vector<int64_t>{5, 10});
  }
}

TEST_CASE("nets fit images of other shapes and other numbers of classes") {
  for (const std::string net : {"mlp", "mlp_bn", "lenet", "resnet18"}) {
    INFO(net);
    ImageClassifier module(ImageClassifierOptions{
        .net = net, .hidden = 8, .num_classes = 7, .image_shape = {3, 32, 20}, .small_input = true});
    CHECK(module.forward(torch::rand({2, 3, 32, 20})).sizes() == std::vector<int64_t>{2, 7});
  }
  ImageClassifier smallest(ImageClassifierOptions{.net = "lenet", .image_shape = {1, 14, 14}});
  CHECK(smallest.forward(torch::rand({2, 1, 14, 14})).sizes() == std::vector<int64_t>{2, 10});

  ImageClassifier resnet(ImageClassifierOptions{.net = "resnet18", .image_shape = {3, 224, 224}});
  CHECK(names(resnet).front() == "net.conv1.weight");
  CHECK(names(resnet).back() == "net.fc.bias");
  CHECK(resnet.parameters()[0].sizes() == std::vector<int64_t>{64, 3, 7, 7});

  const auto with = [](ImageClassifierOptions options) {
    return error_text<UsageError>([&] { ImageClassifier{options}; });
  };
  CHECK(with({.net = "lenet", .image_shape = {1, 28, 13}}) ==
        "model.image_shape: lenet takes images of at least 14x14, got 28x13");
  CHECK(with({.net = "mlp", .image_shape = {28, 28}}) ==
        "model.image_shape: expected channels, height and width, got [28, 28]");
  CHECK(contains(with({.image_shape = {0, 28, 28}}), "model.image_shape"));
  CHECK(contains(with({.num_classes = 0}), "model.num_classes"));
}

TEST_CASE("an ImageClassifier logs what PyTorch Lightning's program logs") {
  ImageClassifier module(ImageClassifierOptions{.net = "mlp"});
  RecordingSink sink;
  levin::StepContext context;
  context.sink = &sink;
  levin::ModuleAccess::set_context(module, &context);
  const levin::Batch batch(torch::rand({8, 1, 28, 28}), torch::arange(8));
  const levin::StepOutput output = module.training_step(batch, 0);
  CHECK(output.loss.requires_grad());
  CHECK(sink.values.at("train_loss") == output.loss.item<double>());
  CHECK(sink.options.at("train_loss").prog_bar);
  module.validation_step(batch, 0);
  module.test_step(batch, 0);
  CHECK(sink.values.at("val_loss") == sink.values.at("train_loss"));
  const double right = module.forward(batch.input()).argmax(1).eq(batch.target()).sum().item<double>();
  CHECK(sink.values.at("val_acc") == right / 8);
  CHECK(sink.options.at("val_acc").prog_bar);
  CHECK(!sink.options.at("val_loss").prog_bar);
  CHECK(sink.values.at("test_acc") == sink.values.at("val_acc"));
  CHECK(sink.values.count("test_loss") == 1);
  const at::Tensor sums = module.predict_step(batch, 0).input().sum(1);
  CHECK(sums.sub(1).abs().max().item<double>() < 1e-5);
  levin::ModuleAccess::set_context(module, nullptr);
}

TEST_CASE("an ImageClassifier's weights come from a file") {
  const TemporaryFolder folder;
  ImageClassifier first(ImageClassifierOptions{.net = "mlp_bn"});
  levin::save_weights(first, folder / "init.pt");
  ImageClassifier second(
      ImageClassifierOptions{.net = "mlp_bn", .initial = {.weights = (folder / "init.pt").string()}});
  CHECK(first.parameters()[0].equal(second.parameters()[0]));

  const auto missing = [&] { ImageClassifier(ImageClassifierOptions{.initial = {.weights = "none/such.pt"}}); };
  CHECK(error_text<UsageError>(missing) == "model.weights: no file none/such.pt");
  const auto other = [&] {
    ImageClassifier(ImageClassifierOptions{.initial = {.weights = (folder / "init.pt").string()}});
  };
  CHECK(contains(error_text<UsageError>(other), "init.pt"));
}

TEST_CASE("a config chooses an ImageClassifier's optimizer and schedule") {
  const auto& registry = levin::ModuleKind::registry();
  const levin::Schema& schema = registry.at("ImageClassifier", "model").schema();
  const auto options = schema.make();
  schema.set(options.get(), "model",
             nlohmann::ordered_json::parse(R"({"net": "mlp", "optimizer": {"class": "SGD", "lr": 0.5},
               "lr_scheduler": {"class": "OneCycleLR", "max_lr": 1, "interval": "step", "frequency": 3}})"));
  const auto module = registry.entry("ImageClassifier", "model")(options.get());
  const levin::OptimizerConfig config = module->configure_optimizers();
  REQUIRE(config.entries.size() == 1);
  CHECK(config.entries[0].optimizer->param_groups()[0].options().get_lr() == 0.5);
  REQUIRE(config.entries[0].scheduler);
  CHECK(config.entries[0].scheduler->config.interval == levin::Interval::Step);
  CHECK(config.entries[0].scheduler->config.frequency == 3);
  CHECK(levin::ModuleAccess::factory(*module)() != nullptr);

  const levin::OptimizerConfig by_default = ImageClassifier().configure_optimizers();
  CHECK(by_default.entries[0].optimizer->param_groups()[0].options().get_lr() == 1e-3);
  CHECK(!by_default.entries[0].scheduler);
  CHECK(contains(error_text<UsageError>([&] { schema.set(options.get(), "model", {{"net", "lenett"}}); }),
                 "model.net: expected one of mlp, mlp_bn, lenet, resnet18"));
}
