#include <levin/modules/optim/adagrad.h>
#include <levin/modules/optim/adam.h>
#include <levin/modules/optim/adamw.h>
#include <levin/modules/optim/rmsprop.h>
#include <levin/modules/optim/sgd.h>
#include <levin/modules/optimizer_config.h>
#include <torch/torch.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/python_reference.h"
#include "tests/modules/small_training.h"

using namespace small_training;
using levin::UsageError;
namespace optim = levin::optim;

TEST_CASE("optimizers end at Python's weights after 100 steps") {
  const auto expected = python_reference("optimizers", optimizer_cases());
  if (!expected) return;
  for (size_t i = 0; i < optimizer_cases().size(); ++i) {
    INFO(optimizer_cases()[i].dump());
    const auto weights = parameters();
    const at::Tensor before = flat(weights);
    train(*make(optimizer_cases()[i], weights), weights, 100);
    CHECK(distance(flat(weights), before) > 1e-3);
    CHECK(distance(flat(weights), flat((*expected)[i])) < 1e-9);
  }
}

TEST_CASE("LBFGS goes down a quadratic as Python's") {
  const auto cases = nlohmann::ordered_json::parse(R"([
    {"class": "LBFGS", "lr": 0.001, "max_iter": 3},
    {"class": "LBFGS", "line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 3},
    {"class": "LBFGS", "lr": 0.5, "line_search_fn": "strong_wolfe"}
  ])");
  const auto expected = python_reference("lbfgs", cases);
  if (!expected) return;
  const at::Tensor scale = torch::pow(10, torch::linspace(0, 3, 6, torch::kDouble));
  const at::Tensor goal = torch::sin(torch::arange(6, torch::kDouble) * 0.37);
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].dump());
    const at::Tensor point = torch::zeros(6, torch::dtype(torch::kDouble).requires_grad(true));
    const auto optimizer = make(cases[i], {point});
    std::vector<at::Tensor> path;
    for (int step = 0; step < 10; ++step) {
      optimizer->step([&] {
        optimizer->zero_grad();
        const at::Tensor loss = (scale * (point - goal).square()).sum();
        loss.backward();
        return loss;
      });
      path.push_back(point.detach().clone());
    }
    CHECK(distance(torch::cat(path), flat((*expected)[i])) < 1e-9);
    CHECK(distance(point.detach(), goal) < distance(torch::zeros_like(goal), goal));
  }
}

TEST_CASE("levin's SGD does LibTorch's arithmetic, also after a move into a config") {
  const auto ours = parameters(), theirs = parameters();
  levin::OptimizerConfig config = optim::SGD(ours, {.lr = 0.02, .momentum = 0.9, .weight_decay = 0.1});
  torch::optim::SGD reference(theirs, torch::optim::SGDOptions(0.02).momentum(0.9).weight_decay(0.1));
  train(*config.entries[0].optimizer, ours, 20);
  train(reference, theirs, 20);
  CHECK(flat(ours).equal(flat(theirs)));
}

TEST_CASE("levin's AdamW differs from LibTorch's by rounding only") {
  const auto ours = parameters(), theirs = parameters();
  optim::AdamW adamw(ours, {.lr = 0.02, .weight_decay = 0.1, .amsgrad = true});
  torch::optim::AdamW reference(theirs, torch::optim::AdamWOptions(0.02).weight_decay(0.1).amsgrad(true));
  train(adamw, ours, 20);
  train(reference, theirs, 20);
  CHECK(distance(flat(ours), flat(theirs)) < 1e-9);
}

TEST_CASE("parameter groups keep their own options") {
  const auto weights = parameters();
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<at::Tensor>{weights[0]}, std::make_unique<torch::optim::SGDOptions>(0.5));
  groups.emplace_back(std::vector<at::Tensor>{weights[1], weights[2]});
  optim::SGD sgd(groups, {.lr = 0.1});
  CHECK(sgd.param_groups()[0].options().get_lr() == 0.5);
  CHECK(sgd.param_groups()[1].options().get_lr() == 0.1);

  groups[0].set_options(std::make_unique<torch::optim::SGDOptions>(-1));
  CHECK(contains(error_text<UsageError>([&] { optim::SGD(groups, {}); }), "SGD.param_groups[0].lr: "));
  groups[0].set_options(std::make_unique<torch::optim::AdamOptions>(0.1));
  CHECK(contains(error_text<UsageError>([&] { optim::SGD(groups, {}); }),
                 "SGD.param_groups[0]: the options are those of another optimizer"));
}

TEST_CASE("bad arguments are usage errors that name them") {
  const auto p = parameters();
  const auto says = [](auto make_it, const std::string& part) {
    const std::string text = error_text<UsageError>(make_it);
    INFO(text);
    CHECK(contains(text, part));
  };
  says([&] { optim::SGD(p, {.lr = -0.1}); }, "SGD.lr: expected at least 0, got -0.1");
  says([&] { optim::SGD(p, {.nesterov = true}); }, "SGD.nesterov: needs a momentum above 0");
  says([&] { optim::Adam(p, {.betas = {0.9, 1.0}}); }, "Adam.betas");
  says([&] { optim::AdamW(p, {.betas = {0.9}}); }, "AdamW.betas: expected two numbers, got 1");
  says([&] { optim::RMSprop(p, {.eps = -1}); }, "RMSprop.eps: ");
  says([&] { optim::Adagrad(p, {.lr = std::nan("")}); }, "Adagrad.lr: ");
  says([&] { optim::Adam(std::vector<at::Tensor>{}); }, "Adam: there are no parameters to train");
  says([&] { optim::Adam({p[0], p[1], p[0]}); }, "Adam: parameter 2 of group 0 (shape [3, 4]) is given twice");
  says([&] { optim::Adam({p[0] * 2}); }, "is computed from other tensors");
  says([&] { make({{"class", "Adan"}}, p); }, "optimizer.class: no optimizer 'Adan' (did you mean Adam?)");
  says([&] { make({{"class", "Adam"}, {"beta", 1}}, p); }, "optimizer.beta: no such option (did you mean betas?)");
}
