#include <levin/modules/optim/engine/fused.h>
#include <levin/modules/optim/engine/repeats_closure.h>
#include <levin/modules/optim/optimizer_state.h>
#include <levin/modules/optim/optimizers/adafactor.h>
#include <levin/modules/optim/optimizers/adagrad.h>
#include <levin/modules/optim/optimizers/adam.h>
#include <levin/modules/optim/optimizers/adamw.h>
#include <levin/modules/optim/optimizers/lbfgs.h>
#include <levin/modules/optim/optimizers/lion.h>
#include <levin/modules/optim/optimizers/nadam.h>
#include <levin/modules/optim/optimizers/rmsprop.h>
#include <levin/modules/optim/optimizers/rprop.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/optimizer_config.h>
#include <torch/torch.h>

#include <sstream>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/python_reference.h"
#include "tests/modules/small_training.h"

using namespace small_training;
using levin::UsageError;
namespace optim = levin::optim;

TEST_CASE("optimizers end at Python's weights after 100 steps") {
  const bool in_double = GENERATE(true, false);
  const auto expected = python_reference(in_double ? "optimizers" : "optimizers32", optimizer_cases());
  if (!expected) return;
  for (size_t i = 0; i < optimizer_cases().size(); ++i) {
    INFO(optimizer_cases()[i].dump());
    const auto weights = parameters(in_double ? at::kDouble : at::kFloat);
    const at::Tensor before = flat(weights);
    train(*make(optimizer_cases()[i], weights), weights, 100);
    CHECK(distance(flat(weights), before) > 1e-3);
    CHECK(distance(flat(weights), flat((*expected)[i])) < (in_double ? 1e-12 : 1e-6));
  }
}

TEST_CASE("complex parameters end at Python's, which are pairs of real ones, and their state resumes to the bit") {
  nlohmann::ordered_json cases = nlohmann::ordered_json::array();
  for (const auto& json : optimizer_cases())  // the others are none of Python's, or do not take complex parameters
    if (const std::string name = json["class"]; name != "Adafactor" && name != "Lion" && name[0] != 'L')
      cases.push_back(json);
  const auto expected = python_reference("complex_optimizers", cases);
  if (!expected) return;
  const auto train = [](torch::optim::Optimizer& optimizer, const at::Tensor& p, int64_t steps) {
    for (int64_t i = 0; i < steps; ++i) {
      optimizer.zero_grad();
      (p * torch::complex(fill({3, 4}), -fill({3, 4})) - 1).abs().square().sum().backward();
      optimizer.step();
    }
  };
  const auto begin = [] { return torch::complex(fill({3, 4}), fill({4, 3}).t().contiguous()).requires_grad_(); };
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].dump());
    const at::Tensor p = begin(), first = begin();
    train(*make(cases[i], {p}), p, 20);
    CHECK(distance(flat({torch::view_as_real(p)}), flat((*expected)[i])) < 1e-12);
    const auto before = make(cases[i], {first});
    train(*before, first, 10);
    const at::Tensor second = first.detach().clone().requires_grad_();
    const auto after = make(cases[i], {second});
    optim::load_optimizer_state_dict(*after, optim::optimizer_state_dict(*before));
    train(*after, second, 10);
    CHECK(torch::equal(second, p));
  }
}

TEST_CASE("optimizers that cannot step complex parameters say so") {
  const at::Tensor p = torch::complex(fill({2}), fill({2})).requires_grad_();
  CHECK(contains(error_text<UsageError>([&] { optim::LBFGS({p}); }), "LBFGS does not take complex parameters"));
  CHECK(contains(error_text<UsageError>([&] { optim::Adafactor({p}); }), "Adafactor does not take complex parameters"));
}

TEST_CASE("LBFGS takes one group of contiguous parameters") {
  const at::Tensor p = fill({2, 3}).requires_grad_(), turned = fill({2, 3}).t().requires_grad_();
  CHECK(contains(error_text<UsageError>([&] { optim::LBFGS({turned}); }), "has the strides [1, 3]"));
  optim::LBFGS one({p});
  CHECK(contains(error_text<UsageError>([&] { optim::add_param_group(one, {{fill({2}).requires_grad_()}}); }),
                 "steps one parameter group"));
}

TEST_CASE("sparse gradients, tied, frozen and unused parameters, and groups with different rates are as in Python") {
  const auto cases = nlohmann::ordered_json::parse(R"([
    {"optimizer": {"class": "SGD", "lr": 0.1, "momentum": 0.9},
     "rate": 0.02, "sparse": false, "tied": true, "frozen": false},
    {"optimizer": {"class": "SGD", "lr": 0.1},
     "rate": 0.3, "sparse": true, "tied": false, "frozen": false},
    {"optimizer": {"class": "SGD", "lr": 0.1, "momentum": 0.9},
     "rate": 0.01, "sparse": true, "tied": false, "frozen": true},
    {"optimizer": {"class": "SGD", "lr": 0.1, "momentum": 0.9, "nesterov": true},
     "rate": 0.01, "sparse": true, "tied": false, "frozen": true},
    {"optimizer": {"class": "Adagrad", "lr": 0.1},
     "rate": 0.01, "sparse": true, "tied": false, "frozen": false},
    {"optimizer": {"class": "Adagrad", "lr": 0.1, "lr_decay": 0.1},
     "rate": 0.01, "sparse": false, "tied": true, "frozen": false},
    {"optimizer": {"class": "Adam", "lr": 0.01},
     "rate": 0.1, "sparse": false, "tied": true, "frozen": false},
    {"optimizer": {"class": "AdamW", "lr": 0.01, "amsgrad": true},
     "rate": 0.1, "sparse": false, "tied": false, "frozen": true},
    {"optimizer": {"class": "NAdam", "lr": 0.01},
     "rate": 0.1, "sparse": false, "tied": false, "frozen": false},
    {"optimizer": {"class": "RMSprop", "lr": 0.01, "momentum": 0.5},
     "rate": 0.001, "sparse": false, "tied": false, "frozen": false},
    {"optimizer": {"class": "ASGD", "lr": 0.1, "t0": 5},
     "rate": 0.2, "sparse": false, "tied": false, "frozen": false}
  ])");
  const auto expected = python_reference("situations", cases);
  if (!expected) return;
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].dump());
    const at::Tensor table = fill({7, 4}).requires_grad_(), weight = fill({7, 4}).requires_grad_(!cases[i]["frozen"]),
                     unused = fill({3}).requires_grad_();
    const at::Tensor out = cases[i]["tied"] ? table : weight;
    optim::ParamGroups groups;
    groups.emplace_back(std::vector{table});
    groups.emplace_back(cases[i]["frozen"] ? std::vector{unused} : std::vector{weight, unused});
    small_training::Options options;
    levin::schema_of<small_training::Options>().set(&options, "", {{"optimizer", cases[i]["optimizer"]}});
    const auto optimizer = options.optimizer.make("optimizer", groups);
    optimizer->param_groups()[1].options().set_lr(cases[i]["rate"]);
    for (int64_t step = 0; step < 100; ++step) {
      optimizer->zero_grad();
      const at::Tensor rows = torch::embedding(table, torch::tensor({step % 7, int64_t{1}, int64_t{1}}),
                                               /*padding_idx=*/-1, /*scale_grad_by_freq=*/false, cases[i]["sparse"]);
      at::Tensor loss = (rows.matmul(out.t()) - fill({3, 7})).square().mean();
      if (step % 3 == 0) loss = loss + (unused * fill({3})).sum().square();
      loss.backward();
      optimizer->step();
    }
    CHECK(distance(flat({table, weight, unused}), flat((*expected)[i])) < 1e-12);
  }
}

TEST_CASE("a step is the same in memory, by lists of tensors, and with several threads") {
  const int threads = at::get_num_threads();
  for (const auto& json : optimizer_cases()) {
    INFO(json.dump());
    const auto run = [&](bool transposed) {
      // More elements than one thread takes; the gradient of a transposed use has other strides than the parameter.
      const at::Tensor large = fill({300, 301}, at::kFloat).requires_grad_();
      const auto optimizer = make(json, {large});
      for (int i = 0; i < 4; ++i) {
        at::Tensor gradient = fill({300, 301}, at::kFloat) * (i + 1);
        if (transposed) gradient = gradient.t().contiguous().t();
        large.mutable_grad() = gradient;
        optimizer->step();
      }
      return large.detach().clone();
    };
    at::set_num_threads(1);
    const at::Tensor one = run(false), lists = run(true);
    at::set_num_threads(2);
    const at::Tensor two = run(false);
    CHECK(one.equal(two));
    CHECK(distance(one, lists) < 1e-6);
  }
  at::set_num_threads(threads);
}

TEST_CASE("parameters of 16 bit are stepped in 16 bit") {
  for (const auto& json : optimizer_cases()) {
    INFO(json.dump());
    const at::Tensor p = fill({5, 3}).to(at::kBFloat16).requires_grad_(), before = p.detach().clone();
    const auto optimizer = make(json, {p});
    for (int i = 0; i < 20; ++i) {
      p.mutable_grad() = fill({5, 3}).to(at::kBFloat16);
      optimizer->step();
    }
    CHECK(p.scalar_type() == at::kBFloat16);
    CHECK(p.isfinite().all().item<bool>());
    CHECK(!p.detach().equal(before));
  }
}

TEST_CASE("LibTorch's fused kernels get what they need") {
  // The kernels also run on the CPU, where levin does not use them.
  const auto ours = parameters(at::kFloat), theirs = parameters(at::kFloat);
  optim::Adam adam(ours, {.lr = 0.01, .weight_decay = 0.1});
  optim::detail::FusedLists lists{.parameters = {}, .gradients = {}, .state = {}, .step = 0};
  const at::NoGradGuard no_grad;
  for (const at::Tensor& p : theirs) {
    lists.parameters.push_back(p.detach());
    for (size_t i = 0; i < 2; ++i) lists.state[i].push_back(at::zeros_like(p));
  }
  for (int step = 1; step <= 5; ++step) {
    lists.gradients.clear();
    lists.step = step;
    for (size_t i = 0; i < ours.size(); ++i) {
      ours[i].mutable_grad() = fill(ours[i].sizes().vec(), at::kFloat) * step;
      lists.gradients.push_back(ours[i].grad().clone());
    }
    adam.set_gradient_multiplier(0.5);
    adam.step();
    optim::detail::fused_adam({0.01, 0.9, 0.999, 1e-8, 0.1, false, false}, 0.5, lists);
  }
  CHECK(distance(flat(ours), flat(theirs)) < 1e-6);
}

TEST_CASE("autograd finds a use of parameters that were stepped meanwhile") {
  const auto p = parameters();
  optim::Adam adam(p);
  const at::Tensor loss = loss_of(p), other = loss_of(p);
  loss.backward();
  adam.step();
  CHECK(contains(error_text<c10::Error>([&] { other.backward(); }), "modified by an inplace operation"));
}

TEST_CASE("torch::save and torch::load keep an optimizer's state") {
  const auto weights = parameters();
  optim::NAdam optimizer(weights, {.lr = 0.01});
  train(optimizer, weights, 10);
  std::stringstream file;
  torch::save(optimizer, file);
  std::vector<at::Tensor> copies;
  for (const at::Tensor& p : weights) copies.push_back(p.detach().clone().requires_grad_());
  optim::NAdam other(copies);
  torch::load(other, file);
  train(optimizer, weights, 5);
  train(other, copies, 5);
  CHECK(flat(weights).equal(flat(copies)));
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
  CHECK(distance(flat(ours), flat(theirs)) == 0);
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
  groups.push_back(optim::param_group({weights[0]}, optim::SGDOptions{.lr = 0.5}));
  groups.emplace_back(std::vector<at::Tensor>{weights[1], weights[2]});
  optim::SGD sgd(groups, {.lr = 0.1});
  CHECK(sgd.param_groups()[0].options().get_lr() == 0.5);
  CHECK(sgd.param_groups()[1].options().get_lr() == 0.1);

  groups[0] = optim::param_group({weights[0]}, optim::SGDOptions{.lr = -1});
  CHECK(contains(error_text<UsageError>([&] { optim::SGD(groups, {}); }), "SGD.param_groups[0].lr: "));
  groups[0] = optim::param_group({weights[0]}, optim::AdamOptions{});
  CHECK(contains(error_text<UsageError>([&] { optim::SGD(groups, {}); }),
                 "SGD.param_groups[0]: the options are not SGDOptions"));
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
  says([&] { optim::Rprop(p, {.etas = {1.2, 0.5}}); }, "Rprop.etas: expected two factors");
  says([&] { optim::Lion(p, {.betas = {0.9}}); }, "Lion.betas: expected two numbers, got 1");
  says([&] { optim::Adafactor(p, {.d = 0.5}); }, "Adafactor.d: ");
  says([&] { optim::Adam(std::vector<at::Tensor>{}); }, "Adam: there are no parameters to train");
  says([&] { optim::Adam({p[0], p[1], p[0]}); }, "Adam: parameter 2 of group 0 (shape [3, 4]) is given twice");
  says([&] { optim::Adam({p[0] * 2}); }, "is computed from other tensors");
  says([&] { make({{"class", "Adan"}}, p); }, "optimizer.class: no optimizer 'Adan' (did you mean Adam?)");
  says(
      [&] {
        const at::Tensor table = fill({3, 2}).requires_grad_();
        torch::embedding(table, torch::tensor({int64_t{1}}), -1, false, /*sparse=*/true).sum().backward();
        optim::Adam({table}).step();
      },
      "Adam does not take sparse gradients; use SGD or Adagrad");
  says([&] { make({{"class", "Adam"}, {"beta", 1}}, p); }, "optimizer.beta: no such option (did you mean betas?)");
}

TEST_CASE("LBFGS is known to evaluate its closure several times, levin's and LibTorch's") {
  const std::vector<torch::Tensor> parameters = {torch::zeros({2}, torch::requires_grad())};
  CHECK(optim::detail::repeats_closure(optim::LBFGS(parameters)));
  CHECK(optim::detail::repeats_closure(torch::optim::LBFGS(parameters)));
  CHECK_FALSE(optim::detail::repeats_closure(optim::Adam(parameters)));
  CHECK_FALSE(optim::detail::repeats_closure(torch::optim::SGD(parameters, 0.1)));
}
