// MLPRegressor and MLPClassifier: tables with numbers and categories.
#include <levin/modules/nn/tabular.h>
#include <levin/data/datasets/csv.h>
#include <levin/modules/load_from_checkpoint.h>
#include <levin/modules/optim/optimizers/adam.h>
#include <levin/modules/registry.h>
#include <levin/trainer/trainer.h>
#include <torch/torch.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::UsageError;
using levin::nn::MLPClassifier;
using levin::nn::MLPRegressor;
using levin::nn::MLPRegressorOptions;

namespace {

/// y = 2 a + (kind x: -3, y: 0, z: 3); its sign is the class.
struct Table {
  Table() {
    std::ofstream out(folder / "t.csv");
    out << "a,kind,number,class\n";
    for (int i = 0; i < 120; ++i) {
      const double a = (i * 37 % 101) / 101.0 - 0.5, y = 2 * a + 3 * (i % 3 - 1);
      out << a << "," << "xyz"[i % 3] << "," << y << "," << (y < 0 ? "low" : "high") << "\n";
    }
  }
  levin::data::Csv data(const std::string& target, const std::string& type) const {
    return levin::data::Csv(
        {.file = (folder / "t.csv").string(),
         .test_file = (folder / "t.csv").string(),
         .columns = {.features = {"a"}, .categories = {"kind"}, .target = target, .target_type = type},
         .val_fraction = 0.25,
         .batch_size = 16});
  }
  levin::TrainerOptions options() const {
    levin::TrainerOptions options;
    options.max_epochs = 60;
    options.default_root_dir = folder.path().string();
    options.accelerator = "cpu";
    options.enable_progress_bar = options.enable_model_summary = false;
    options.seed = 1;
    return options;
  }
  TemporaryFolder folder;
};

const levin::optim::AdamOptions kAdam = {.lr = 0.01};

}  // namespace

TEST_CASE("MLPRegressor takes its sizes from a Csv and learns numbers and categories") {
  const Table table;
  const auto module =
      levin::make_module<MLPRegressor>(MLPRegressorOptions{.net = {.hidden = {16}}, .optimizer = {"Adam", kAdam}});
  CHECK(module->parameters().empty());
  levin::data::Csv data = table.data("number", "number");
  const levin::RunResult result = levin::Trainer(table.options()).fit(module, data);
  CHECK(result.metrics.at("val_mae") < 0.3);
  CHECK(module->options.net.features == 1);
  CHECK(module->options.net.category_sizes == std::vector<int64_t>{3});
  CHECK(module->named_parameters().contains("net.embeddings.0.weight"));

  // Checkpoint and factory hold the sizes, so that another such module needs no data.
  const auto again = levin::load_from_checkpoint<MLPRegressor>(result.folder / "checkpoints/last.ckpt");
  CHECK(torch::equal(again->parameters()[0], module->parameters()[0]));
  CHECK(levin::ModuleAccess::factory(*module)()->parameters().size() == module->parameters().size());
  const auto predictions = levin::Trainer(table.options()).predict(again, data);
  CHECK(predictions.at(0).at(0).input().sizes() == std::vector<int64_t>{16, 1});
}

TEST_CASE("MLPClassifier takes its classes from a Csv, and is a model by name") {
  const Table table;
  const auto& registry = levin::ModuleKind::registry();
  const auto options = registry.at("MLPClassifier", "model").schema().make();
  const nlohmann::ordered_json json = {
      {"hidden", {16}}, {"dropout", 0.1}, {"optimizer", {{"class", "Adam"}, {"lr", 0.01}}}};
  registry.at("MLPClassifier", "model").schema().set(options.get(), "model", json);
  const auto module = registry.entry("MLPClassifier", "model")(options.get());
  levin::data::Csv data = table.data("class", "class");
  const levin::RunResult result = levin::Trainer(table.options()).fit(*module, data);
  CHECK(result.metrics.at("val_acc") > 0.9);
  CHECK(levin::Trainer(table.options()).test(*module, data).at(0).at("test_acc") > 0.9);
}

TEST_CASE("sizes that are given need no data, and batches of other columns are refused with the option's name") {
  MLPClassifier module(
      {.net = {.features = 2, .category_sizes = {3, 4}, .embedding = 5, .batch_norm = true}, .num_classes = 3});
  const Batch batch({{"input", torch::ones({4, 2})}, {"category", torch::zeros({4, 2}, torch::kLong)}});
  CHECK(module.forward(batch).sizes() == std::vector<int64_t>{4, 3});
  CHECK(module.named_parameters()["net.embeddings.1.weight"].sizes() == std::vector<int64_t>{4, 5});
  const auto refused = [&](const Batch& other) { return error_text<UsageError>([&] { module.forward(other); }); };
  CHECK(
      refused(Batch({{"input", torch::ones({4, 3})}, {"category", torch::zeros({4, 2}, torch::kLong)}})) ==
      "model.features: the model takes `input` with 2 numbers of each sample; it is [4, 3]; set model.features to what "
      "the data have, or leave it unset");
  CHECK(contains(refused(Batch(torch::ones({4, 2}))),
                 "model.category_sizes: the model takes `category` with 2 columns; "
                 "there is none"));
  MLPRegressor numbers({.net = {.features = 2}});
  CHECK(contains(error_text<UsageError>([&] { numbers.forward(batch); }), "`category` with 0 columns; it is [4, 2]"));
  CHECK(contains(error_text<UsageError>([&] { MLPRegressor({.net = {.features = 0}}); }), "nothing to predict from"));
}

TEST_CASE("without sizes and without a table, the option is named") {
  const Table table;
  MLPRegressor module;
  CHECK(contains(
      error_text<UsageError>([&] {
        levin::Trainer(table.options()).fit(module, std::vector<Batch>{Batch(torch::ones({2, 2}), torch::ones({2}))});
      }),
      "model.features: not set, and the run has no table (Csv)"));
  MLPClassifier without_classes({.net = {.features = 2}});
  CHECK(contains(error_text<UsageError>([&] {
                   levin::Trainer(table.options())
                       .fit(without_classes, std::vector<Batch>{Batch(torch::ones({2, 2}), torch::ones({2}))});
                 }),
                 "model.num_classes: not set, and the run has no table (Csv)"));
  levin::data::Csv numbers = table.data("number", "number");
  MLPClassifier classifier;
  CHECK(contains(error_text<UsageError>([&] { levin::Trainer(table.options()).fit(classifier, numbers); }),
                 "model.num_classes: not set, and the data have 0 classes"));
  levin::data::Csv classes = table.data("class", "class");
  CHECK(contains(error_text<UsageError>([&] { levin::Trainer(table.options()).fit(module, classes); }),
                 "for a target of numbers set data.target_type number"));
}
