#include <levin/modules/optim/optimizer_state.h>
#include <levin/core/state/state_file.h>
#include <levin/modules/lr_schedulers/chained_scheduler.h>
#include <levin/modules/lr_schedulers/constant_lr.h>
#include <levin/modules/lr_schedulers/cosine_annealing_lr.h>
#include <levin/modules/lr_schedulers/linear_lr.h>
#include <levin/modules/optim/optimizers/adam.h>
#include <levin/modules/optim/optimizers/adamw.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <torch/optim/adam.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/sgd.h>
#include <torch/serialize/archive.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/python_reference.h"
#include "tests/modules/small_training.h"
#include "tests/temporary_folder.h"

using namespace small_training;
using levin::State;
using levin::UsageError;
using levin::optim::load_optimizer_state_dict;
using levin::optim::optimizer_state_dict;

namespace {

std::vector<at::Tensor> copies(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> copied;
  for (const at::Tensor& parameter : parameters) copied.push_back(parameter.detach().clone().requires_grad_());
  return copied;
}

State list_of(const std::vector<at::Tensor>& tensors) {
  State list = State::list();
  for (const at::Tensor& tensor : tensors) list.push_back(tensor.detach());
  return list;
}

}  // namespace

TEST_CASE("a restored optimizer continues bit for bit, through a file") {
  const TemporaryFolder folder;
  for (const auto& json : optimizer_cases()) {
    INFO(json.dump());
    const auto weights = parameters();
    const auto optimizer = make(json, weights);
    train(*optimizer, weights, 30);
    levin::save_state(optimizer_state_dict(*optimizer), folder / "state.pt");

    const auto other_weights = copies(weights);
    const auto other = make({{"class", json["class"]}}, other_weights);
    load_optimizer_state_dict(*other, levin::load_state(folder / "state.pt"));
    train(*optimizer, weights, 10);
    train(*other, other_weights, 10);
    CHECK(flat(weights).equal(flat(other_weights)));
  }
}

TEST_CASE("a restored LBFGS continues bit for bit") {
  const auto weights = parameters();
  torch::optim::LBFGS optimizer(weights, torch::optim::LBFGSOptions(0.1).history_size(3));
  const auto steps = [](torch::optim::Optimizer& o, const std::vector<at::Tensor>& p) {
    for (int i = 0; i < 3; ++i)
      o.step([&] {
        o.zero_grad();
        at::Tensor loss = (fill({8, 3}).matmul(p[0]).add(p[1]).tanh().matmul(p[2]) - fill({8, 2})).square().mean();
        loss.backward();
        return loss;
      });
  };
  steps(optimizer, weights);
  const auto other_weights = copies(weights);
  torch::optim::LBFGS other(other_weights);
  load_optimizer_state_dict(other, optimizer_state_dict(optimizer));
  steps(optimizer, weights);
  steps(other, other_weights);
  CHECK(flat(weights).equal(flat(other_weights)));
}

TEST_CASE("Python and levin continue from each other's optimizer states") {
  const TemporaryFolder folder;
  std::vector<std::vector<at::Tensor>> weights;
  for (size_t i = 0; i < optimizer_cases().size(); ++i) {
    weights.push_back(parameters());
    const auto optimizer = make(optimizer_cases()[i], weights[i]);
    train(*optimizer, weights[i], 30);
    levin::save_state(State::dict({{"weights", list_of(weights[i])}, {"optimizer", optimizer_state_dict(*optimizer)}}),
                      folder / ("levin_" + std::to_string(i) + ".pt"));
    train(*optimizer, weights[i], 40);
  }
  const auto pythons = python_reference("resume", optimizer_cases(), folder.path().string());
  if (!pythons) return;
  for (size_t i = 0; i < optimizer_cases().size(); ++i) {
    INFO(optimizer_cases()[i].dump());
    CHECK(distance(flat(weights[i]), flat((*pythons)[i])) < 1e-9);

    const State saved = levin::load_state(folder / ("python_" + std::to_string(i) + ".pt"));
    std::vector<at::Tensor> from_python;
    for (const State& tensor : saved.at("weights").items()) from_python.push_back(tensor.to_tensor().requires_grad_());
    const auto optimizer = make({{"class", optimizer_cases()[i]["class"]}}, from_python);
    load_optimizer_state_dict(*optimizer, saved.at("optimizer"));
    train(*optimizer, from_python, 20);
    CHECK(distance(flat(weights[i]), flat(from_python)) < 1e-9);
  }
}

TEST_CASE("a rate that a schedule has taken below 0 is loaded") {
  const auto check = [](const levin::LRSchedulerSpec& schedule, int64_t steps) {
    levin::optim::SGD optimizer(parameters(), {.lr = 0.1});
    const auto scheduler = schedule.bind(optimizer, {});
    for (int64_t i = 0; i < steps; ++i) scheduler->step();
    levin::optim::SGD other(parameters(), {.lr = 0.1});
    load_optimizer_state_dict(other, optimizer_state_dict(optimizer));
    CHECK(other.param_groups()[0].options().get_lr() == optimizer.param_groups()[0].options().get_lr());
    return other.param_groups()[0].options().get_lr();
  };
  int below = 0;
  for (const int64_t steps : {4, 5, 7, 10, 13}) {
    const levin::LinearLR decay({.end_factor = 0, .total_iters = steps});
    below += check(decay, steps) < 0;
    below +=
        check(levin::ChainedScheduler({.schedulers = {decay, levin::ConstantLR({.factor = 0.5, .total_iters = 2})}}),
              steps) < 0;
  }
  // A minimum above the rate: beyond T_max the cosine falls again.
  for (const int64_t steps : {3, 5, 6, 8, 9})
    below += check(levin::CosineAnnealingLR({.T_max = 3, .eta_min = 0.3}), steps) < 0;
  CHECK(below > 0);
}

TEST_CASE("a state without values of parameters is known by its options to be of another class") {
  const auto weights = parameters();
  levin::optim::SGD optimizer(weights, {.lr = 0.1});
  train(optimizer, weights, 2);
  const State saved = optimizer_state_dict(optimizer);
  levin::optim::Adam adam(weights, {.lr = 0.01});
  CHECK(contains(error_text<UsageError>([&] { load_optimizer_state_dict(adam, saved); }), "another class"));
  torch::optim::Adam of_torch(weights, torch::optim::AdamOptions(0.01));
  CHECK(contains(error_text<UsageError>([&] { load_optimizer_state_dict(of_torch, saved); }), "another class"));
  CHECK(adam.param_groups()[0].options().get_lr() == 0.01);
  levin::optim::AdamW decoupled(weights, {.lr = 0.3});
  load_optimizer_state_dict(decoupled, optimizer_state_dict(adam));
  CHECK(decoupled.param_groups()[0].options().get_lr() == 0.01);
}

TEST_CASE("an optimizer of one's own is restored by its own save and load") {
  struct Inertia : torch::optim::Optimizer {
    explicit Inertia(const std::vector<at::Tensor>& tensors)
        : Optimizer({torch::optim::OptimizerParamGroup(tensors)}, std::make_unique<torch::optim::SGDOptions>(0.1)) {
      for (const at::Tensor& tensor : tensors) velocities.push_back(at::zeros_like(tensor));
    }
    at::Tensor step(LossClosure /*closure*/) override {
      const torch::NoGradGuard no_grad;
      auto& tensors = param_groups()[0].params();
      for (size_t i = 0; i < tensors.size(); ++i) {
        velocities[i].mul_(0.9).add_(tensors[i].grad());
        tensors[i].sub_(velocities[i] * 0.05);
      }
      return {};
    }
    void save(torch::serialize::OutputArchive& archive) const override {
      for (size_t i = 0; i < velocities.size(); ++i)
        archive.write(std::to_string(i), velocities[i], /*is_buffer=*/true);
    }
    void load(torch::serialize::InputArchive& archive) override {
      for (size_t i = 0; i < velocities.size(); ++i) archive.read(std::to_string(i), velocities[i], /*is_buffer=*/true);
    }
    std::vector<at::Tensor> velocities;
  };
  const TemporaryFolder folder;
  const auto weights = parameters();
  Inertia optimizer(weights);
  train(optimizer, weights, 5);
  levin::save_state(optimizer_state_dict(optimizer), folder / "state.pt");
  const auto other_weights = copies(weights);
  Inertia other(other_weights);
  load_optimizer_state_dict(other, levin::load_state(folder / "state.pt"));
  train(optimizer, weights, 5);
  train(other, other_weights, 5);
  CHECK(flat(weights).equal(flat(other_weights)));
  levin::optim::SGD plain(weights, {.lr = 0.1});
  CHECK_THROWS_AS(load_optimizer_state_dict(other, optimizer_state_dict(plain)), UsageError);
}

TEST_CASE("the layout of an optimizer's state is Python's") {
  const auto weights = parameters();
  const auto adam = make({{"class", "Adam"}, {"lr", 0.5}}, weights);
  CHECK(optimizer_state_dict(*adam).at("state").size() == 0);
  train(*adam, weights, 3);
  const State state = optimizer_state_dict(*adam);
  const State& of_second = state.at("state").at(1);
  CHECK(of_second.at("step").to_tensor().item<float>() == 3);
  CHECK(of_second.at("exp_avg").to_tensor().sizes() == weights[1].sizes());
  CHECK(!of_second.contains("max_exp_avg_sq"));
  const State& group = state.at("param_groups").items().at(0);
  CHECK(group.at("lr").to_double() == 0.5);
  CHECK(group.at("betas").is_tuple());
  CHECK(group.at("params").items().at(2).to_int() == 2);
}

TEST_CASE("a state that does not fit is refused and changes nothing") {
  const auto weights = parameters();
  const auto adam = make({{"class", "Adam"}}, weights);
  train(*adam, weights, 1);
  State state = optimizer_state_dict(*adam);

  const auto fewer = make({{"class", "Adam"}}, {weights[0]});
  CHECK(contains(error_text<UsageError>([&] { load_optimizer_state_dict(*fewer, state); }),
                 "has 3 parameters in group 0, the optimizer has 1"));
  const auto swapped = make({{"class", "Adam"}, {"lr", 0.5}}, {weights[1], weights[0], weights[2]});
  CHECK(contains(error_text<UsageError>([&] { load_optimizer_state_dict(*swapped, state); }), "shape [3, 4]"));
  CHECK(swapped->param_groups()[0].options().get_lr() == 0.5);
  CHECK(swapped->state().empty());
  torch::optim::Adam foreign(weights);
  state["param_groups"].items()[0]["maximize"] = true;
  CHECK(contains(error_text<UsageError>([&] { load_optimizer_state_dict(foreign, state); }), "maximize=True"));
}
