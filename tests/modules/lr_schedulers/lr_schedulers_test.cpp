#include <levin/modules/lr_schedulers/cosine_annealing_lr.h>
#include <levin/modules/lr_schedulers/one_cycle_lr.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/lr_schedulers/step_lr.h>
#include <levin/modules/optim/optimizer_state.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/python_reference.h"
#include "tests/modules/small_training.h"

using namespace small_training;
using levin::LRScheduler;
using levin::UsageError;

namespace {

struct SchedulerOptions {
  levin::Part<levin::LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Scheduler");
};

std::unique_ptr<LRScheduler> bind(const nlohmann::ordered_json& json, torch::optim::Optimizer& optimizer,
                                  const levin::LRSchedulerContext& context = {}) {
  SchedulerOptions options;
  levin::schema_of<SchedulerOptions>().set(&options, "", {{"lr_scheduler", json}});
  return options.lr_scheduler.make("lr_scheduler")->bind(optimizer, context);
}

double momentum_of(torch::optim::OptimizerOptions& options) {
  if (auto* sgd = dynamic_cast<torch::optim::SGDOptions*>(&options)) return sgd->momentum();
  if (auto* rmsprop = dynamic_cast<torch::optim::RMSpropOptions*>(&options)) return rmsprop->momentum();
  if (auto* adam = dynamic_cast<torch::optim::AdamOptions*>(&options)) return std::get<0>(adam->betas());
  if (auto* adamw = dynamic_cast<torch::optim::AdamWOptions*>(&options)) return std::get<0>(adamw->betas());
  return 0;
}

const nlohmann::ordered_json& scheduler_cases() {
  static const auto cases = nlohmann::ordered_json::parse(R"([
    {"optimizer": {"class": "SGD", "lr": 0.1}, "lr_scheduler": {"class": "StepLR", "step_size": 7, "gamma": 0.9}},
    {"optimizer": {"class": "SGD", "lr": 0.1}, "lr_scheduler": {"class": "StepLR", "step_size": 1, "gamma": 0.99}},
    {"optimizer": {"class": "Adam", "lr": 0.1}, "lr_scheduler": {"class": "CosineAnnealingLR", "T_max": 300}},
    {"optimizer": {"class": "Adagrad"}, "lr_scheduler": {"class": "CosineAnnealingLR", "T_max": 40, "eta_min": 0.001}},
    {"optimizer": {"class": "SGD", "lr": 0.1, "momentum": 0.9},
     "lr_scheduler": {"class": "OneCycleLR", "max_lr": 0.2, "total_steps": 300}},
    {"optimizer": {"class": "Adam"},
     "lr_scheduler": {"class": "OneCycleLR", "max_lr": [0.2], "epochs": 10, "steps_per_epoch": 31, "pct_start": 0.25,
                      "anneal_strategy": "linear", "base_momentum": 0.8, "max_momentum": 0.9}},
    {"optimizer": {"class": "AdamW"},
     "lr_scheduler": {"class": "OneCycleLR", "max_lr": 0.01, "total_steps": 300, "three_phase": true, "div_factor": 10,
                      "final_div_factor": 100}},
    {"optimizer": {"class": "RMSprop"}, "lr_scheduler": {"class": "OneCycleLR", "max_lr": 0.01, "total_steps": 333}},
    {"optimizer": {"class": "Adagrad"},
     "lr_scheduler": {"class": "OneCycleLR", "max_lr": 0.01, "total_steps": 300, "cycle_momentum": false}}
  ])");
  return cases;
}

/// 301 rows of rate and momentum; at `restore_at` both go on as new objects with the state of the old ones.
std::vector<std::pair<double, double>> rows(const nlohmann::ordered_json& json, int restore_at) {
  auto optimizer = make(json["optimizer"], parameters());
  auto scheduler = bind(json["lr_scheduler"], *optimizer);
  std::vector<std::pair<double, double>> result;
  for (int step = 0; step <= 300; ++step) {
    if (step == restore_at) {
      auto new_optimizer = make(json["optimizer"], parameters());
      auto new_scheduler = bind(json["lr_scheduler"], *new_optimizer);
      levin::load_optimizer_state_dict(*new_optimizer, levin::optimizer_state_dict(*optimizer));
      new_scheduler->load_state_dict(scheduler->state_dict());
      scheduler = std::move(new_scheduler);
      optimizer = std::move(new_optimizer);
    }
    result.emplace_back(scheduler->last_lr()[0], momentum_of(optimizer->param_groups()[0].options()));
    if (step < 300) scheduler->step();
  }
  return result;
}

}  // namespace

TEST_CASE("300 rates and momenta equal Python's, also restored half-way") {
  const auto expected = python_reference("schedulers", scheduler_cases());
  if (!expected) return;
  const int restore_at = GENERATE(-1, 0, 151);
  for (size_t i = 0; i < scheduler_cases().size(); ++i) {
    INFO(scheduler_cases()[i].dump() << " restored at " << restore_at);
    const auto ours = rows(scheduler_cases()[i], restore_at);
    double rate_error = 0, momentum_error = 0, range = 0;
    for (size_t step = 0; step < ours.size(); ++step) {
      rate_error = std::max(rate_error, std::abs(ours[step].first - (*expected)[i][step][0].get<double>()));
      momentum_error = std::max(momentum_error, std::abs(ours[step].second - (*expected)[i][step][1].get<double>()));
      range = std::max(range, std::abs(ours[step].first - ours[0].first));
    }
    CHECK(rate_error < 1e-12);
    CHECK(momentum_error < 1e-12);
    CHECK(range > 1e-3);
  }
}

TEST_CASE("each parameter group has its rates") {
  const auto weights = parameters();
  torch::optim::SGD sgd(
      {torch::optim::OptimizerParamGroup({weights[0]}), torch::optim::OptimizerParamGroup({weights[1]})},
      torch::optim::SGDOptions(0.1));
  const levin::OneCycleLR spec({.max_lr = {0.25, 0.5}, .total_steps = 100}, {.interval = "step"});
  CHECK(spec.config.interval == "step");
  const auto scheduler = spec.bind(sgd, {});
  CHECK(std::abs(scheduler->last_lr().at(0) - 0.01) < 1e-12);
  CHECK(std::abs(scheduler->last_lr().at(1) - 0.02) < 1e-12);
  const auto fewer = [&] { levin::OneCycleLR({.max_lr = {1, 2, 3}, .total_steps = 9}).bind(sgd, {}); };
  CHECK(contains(error_text<UsageError>(fewer), "OneCycleLR.max_lr: expected one number, or one for each of"));
}

TEST_CASE("total_steps auto is the length of the run") {
  const auto sgd = make({{"class", "SGD"}}, parameters());
  const nlohmann::ordered_json json = {
      {"class", "OneCycleLR"}, {"max_lr", 0.1}, {"interval", "step"}, {"frequency", 2}};
  const auto scheduler = bind(json, *sgd, {.total_steps = [] { return std::optional<int64_t>(20); }});
  for (int i = 0; i < 10; ++i) scheduler->step();
  const std::string beyond = error_text<UsageError>([&] { scheduler->step(); });
  CHECK(contains(beyond, "OneCycleLR: step 11 is beyond total_steps = 10; set total_steps"));

  const auto endless = [&] { bind(json, *sgd, {.total_steps = [] { return std::optional<int64_t>(); }}); };
  CHECK(contains(error_text<UsageError>(endless), "needs a run of known length"));
  const auto by_epoch = [&] { bind({{"class", "OneCycleLR"}, {"max_lr", 0.1}}, *sgd); };
  CHECK(contains(error_text<UsageError>(by_epoch), "set interval to \"step\""));
}

TEST_CASE("bad scheduler options are usage errors that name them") {
  const auto says = [](auto make_it, const std::string& part) {
    const std::string text = error_text<UsageError>(make_it);
    INFO(text);
    CHECK(contains(text, part));
  };
  const auto sgd = make({{"class", "SGD"}}, parameters());
  const auto adagrad = make({{"class", "Adagrad"}}, parameters());
  says([] { levin::StepLR({}); }, "StepLR.step_size: missing");
  says([] { levin::StepLR({.step_size = 0}); }, "StepLR.step_size: expected at least 1, got 0");
  says([] { levin::StepLR({.step_size = 1}, {.interval = "batch"}); }, "lr_scheduler.interval: ");
  says([] { levin::CosineAnnealingLR({}); }, "CosineAnnealingLR.T_max: missing");
  says([] { levin::OneCycleLR({}); }, "OneCycleLR.max_lr: missing");
  says([] { levin::OneCycleLR({.max_lr = -1}); }, "OneCycleLR.max_lr: expected at least 0");
  says([] { levin::OneCycleLR({.max_lr = 1, .anneal_strategy = "cosine"}); }, "did you mean cos?");
  says([&] { levin::OneCycleLR({.max_lr = 1, .total_steps = 9}).bind(*adagrad, {}); }, "set cycle_momentum to false");
  says([&] { levin::OneCycleLR({.max_lr = 1, .total_steps = 10, .pct_start = 0.1}).bind(*sgd, {}); }, "has no length");
  says([&] { bind({{"class", "OneCycleLR"}, {"max_lr", "high"}}, *sgd); }, "lr_scheduler.max_lr: expected a number or");
  says([&] { bind({{"class", "StepLR"}, {"step", 3}}, *sgd); }, "lr_scheduler.step: no such option");

  const auto step_lr = bind({{"class", "StepLR"}, {"step_size", 3}}, *sgd);
  says([&] { step_lr->load_state_dict(levin::State::dict({{"base_lrs", levin::State::list()}})); },
       "base_lrs for 0 parameter groups, the optimizer has 1");
}
