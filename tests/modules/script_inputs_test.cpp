// The inputs that a script gets from a batch, and the loss that "auto" chooses. The scripts are made without Python.
#include <levin/data/datasets/csv.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/script_module.h>
#include <levin/trainer/trainer.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/torch.h>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using levin::Batch;
using levin::ScriptModule;
using levin::ScriptModuleOptions;
using levin::UsageError;

namespace {

/// A script with one parameter `w` [rows, columns] and these methods.
struct Script {
  Script(const std::string& methods, int64_t rows, int64_t columns) {
    torch::jit::Module module("Script");
    module.register_parameter("w", torch::full({rows, columns}, 0.1, torch::requires_grad()), false);
    module.register_attribute("training", c10::BoolType::get(), true);
    module.define(methods);
    module.save(file());
  }
  std::string file() const { return (folder / "script.ts").string(); }
  ScriptModuleOptions options(const std::string& loss = "auto") const {
    return {.file = file(), .loss = loss, .optimizer = {"SGD", levin::optim::SGDOptions{.lr = 0.1}}};
  }
  TemporaryFolder folder;
};

constexpr const char* kLinear = "def forward(self, x):\n  return x.matmul(self.w)\n";

levin::TrainerOptions quiet() {
  levin::TrainerOptions options;
  options.max_epochs = 1;
  options.barebones = true;
  options.accelerator = "cpu";
  return options;
}

template <class Function>
std::string said_by(const Function& function) {
  const CapturedStderr captured;
  function();
  return captured.text();
}

double sum_of_trained(ScriptModule& module, const std::vector<Batch>& batches) {
  levin::Trainer trainer(quiet());
  trainer.fit(module, batches);
  return module.parameters()[0].detach().sum().item<double>();
}

}  // namespace

TEST_CASE("loss auto goes by the target: numbers, classes, and what cannot be known is refused") {
  const Script one(kLinear, 3, 1), many(kLinear, 3, 4);
  const torch::Tensor x = torch::arange(6.).reshape({2, 3});
  const torch::Tensor numbers = torch::tensor({-5., 7.}), classes = torch::tensor({3, 0});
  ScriptModule regressor(one.options()), classifier(many.options());
  const torch::Tensor made = regressor.forward(x);
  CHECK(torch::equal(regressor.loss(x, numbers), torch::mse_loss(made.squeeze(1), numbers)));
  CHECK(torch::equal(regressor.loss(x, numbers.unsqueeze(1)), torch::mse_loss(made, numbers.unsqueeze(1))));
  CHECK(torch::equal(classifier.loss(x, classes), torch::cross_entropy_loss(classifier.forward(x), classes)));
  const auto refused = [&](ScriptModule& module, const torch::Tensor& target) {
    return error_text<UsageError>([&] { module.loss(x, target); });
  };
  CHECK(
      refused(regressor, torch::tensor({0, 1})) ==
      "model.loss: auto cannot tell which loss is meant: the model makes Float [2, 1], the target is Long [2]; choose "
      "mse_loss for numbers, cross_entropy for classes or a probability for each, binary_cross_entropy_with_logits for "
      "yes or no");
  CHECK(contains(refused(classifier, torch::rand({2, 4})), "auto cannot tell"));
  CHECK(contains(refused(classifier, numbers), "auto cannot tell"));
}

TEST_CASE("a loss of classes that cannot be of such tensors is refused") {
  const Script one(kLinear, 3, 1), many(kLinear, 3, 4);
  const torch::Tensor x = torch::arange(6.).reshape({2, 3});
  ScriptModule single(one.options("cross_entropy")), classifier(many.options("cross_entropy"));
  const auto refused = [&](ScriptModule& module, const torch::Tensor& target) {
    return error_text<UsageError>([&] { module.loss(x, target); });
  };
  CHECK(contains(refused(single, torch::tensor({-5., 7.})), "needs one number for each class"));
  CHECK(contains(refused(classifier, torch::tensor({-5., 7.})), "needs a target of classes, int64"));
  CHECK(contains(refused(classifier, torch::tensor({0, 1, 2})), "a target [2] was expected; it is [3]"));
  CHECK(
      refused(classifier, torch::tensor({0, 6})) ==
      "the targets of a batch are classes from 0 to 6, and the model knows 4, from 0 to 3; give the model a number for "
      "each class");
  ScriptModule yes_or_no(one.options("binary_cross_entropy_with_logits"));
  CHECK(yes_or_no.loss(x, torch::tensor({0, 1})).item<double>() > 0);
}

TEST_CASE("entries of the batch reach forward's parameters by name, and by the option inputs in order") {
  const std::string two = "def forward(self, x, category):\n  return x.matmul(self.w) + category.to(x.dtype)\n";
  const Script script(two, 2, 1);
  const Batch batch({{"input", torch::ones({3, 2})},
                     {"target", torch::zeros({3})},
                     {"category", torch::tensor({{1}, {2}, {3}})},
                     {"other", torch::tensor({{4}, {4}, {4}})}});
  ScriptModule by_name(script.options());
  const auto predicted = [&](ScriptModule& module) { return module.predict_step(batch, 0).input(); };
  CHECK(torch::allclose(predicted(by_name), torch::tensor({{1.2}, {2.2}, {3.2}})));
  ScriptModuleOptions options = script.options();
  options.inputs = {"input", "other"};
  ScriptModule by_option(options);
  CHECK(torch::allclose(predicted(by_option), torch::full({3, 1}, 4.2)));
  CHECK(sum_of_trained(by_option, {batch}) < 0.2);

  options.inputs = {"input"};
  CHECK(contains(error_text<UsageError>([&] { ScriptModule{options}; }),
                 "model.inputs: names 1 entries of the batch (input), and forward of"));
  CHECK(contains(error_text<UsageError>([&] { by_name.predict_step(Batch(torch::ones({3, 2})), 0); }),
                 "takes x, category; the batch has no 'category', it has input"));
}

TEST_CASE("a script's own loss gets all inputs and the target") {
  const Script script(
      "def forward(self, x, category):\n  return x.matmul(self.w) + category.to(x.dtype)\n"
      "def loss(self, x, category, target):\n  return (self.forward(x, category) - target).sum()\n",
      2, 1);
  ScriptModule module(script.options());
  CHECK(module.options.loss == levin::NamedLoss::Script);
  const std::vector<torch::Tensor> inputs = {torch::ones({3, 2}), torch::tensor({{1}, {2}, {3}})};
  CHECK(std::abs(module.loss(inputs, torch::ones({3, 1})).item<double>() - 3.6) < 1e-5);
}

TEST_CASE("the categories of a table reach a script, and are not dropped without a word") {
  const TemporaryFolder folder;
  write_bytes(folder / "t.csv", "a,kind,y\n1,x,1.5\n2,y,2.5\n3,x,3.5\n4,y,4.5\n");
  const auto table = [&] {
    return levin::data::Csv({.file = (folder / "t.csv").string(),
                             .columns = {.categories = {"kind"}, .target = "y", .target_type = "number"},
                             .batch_size = 2});
  };
  const Script takes("def forward(self, x, category):\n  return x.matmul(self.w) + category.to(x.dtype)\n", 1, 1);
  ScriptModule with(takes.options());
  levin::data::Csv data = table();
  CHECK(said_by([&] { levin::Trainer(quiet()).fit(with, data); }).find("category") == std::string::npos);

  const Script drops(kLinear, 1, 1);
  ScriptModule without(drops.options());
  levin::data::Csv again = table();
  CHECK(contains(said_by([&] { levin::Trainer(quiet()).fit(without, again); }),
                 "the batch has 'category', which forward of " + drops.file() + " (x) does not get"));
}

TEST_CASE("save_to writes the script in eval mode and leaves the module's modes") {
  const Script script(kLinear, 3, 1);
  ScriptModuleOptions options = script.options();
  options.save_to = (script.folder / "trained.ts").string();
  ScriptModule module(options);
  sum_of_trained(module, {Batch(torch::ones({2, 3}), torch::ones({2}))});
  CHECK(module.is_training());
  CHECK(torch::jit::load(script.file()).is_training());
  CHECK_FALSE(torch::jit::load(options.save_to).is_training());
}
