#pragma once
#include <levin/modules/lr_schedulers/chained_scheduler.h>
#include <levin/modules/lr_schedulers/cyclic_lr.h>
#include <levin/modules/lr_schedulers/lambda_lr.h>
#include <levin/modules/lr_schedulers/multiplicative_lr.h>
#include <levin/modules/lr_schedulers/registry.h>
#include <levin/modules/lr_schedulers/sequential_lr.h>
#include <levin/modules/optim/engine/group_options.h>
#include <levin/modules/optim/registry.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/modules/small_training.h"

/// Schedulers from JSON, with the same functions and metrics as python_reference.py.
namespace scheduler_cases {

using Json = nlohmann::ordered_json;
using SpecPointer = std::shared_ptr<const levin::LRSchedulerSpec>;

inline std::function<double(double)> function_of(const std::string& name) {
  if (name == "decay") return [](double x) { return std::pow(0.98, x); };
  if (name == "wave") return [](double x) { return 1 + 0.5 * std::sin(0.1 * x); };
  return [](double x) { return 0.995 + 0.005 * std::sin(x); };
}

inline levin::LRFunctions functions_of(const Json& names) {
  std::vector<levin::LRFunctions::Function> functions;
  if (names.is_string()) functions.push_back(function_of(names));
  for (size_t i = 0; names.is_array() && i < names.size(); ++i) functions.push_back(function_of(names[i]));
  return functions;
}

struct SchedulerOptions {
  levin::ClassChoice<levin::LRSchedulerKind> lr_scheduler = LEVIN_OPTION(lr_scheduler, {}, "Scheduler");
};

/// Makes a scheduler as from a config; schedulers with functions are made as from C++.
inline SpecPointer spec_of(Json json) {
  const std::string name = json["class"];
  if (name == "LambdaLR")
    return std::make_shared<levin::LambdaLR>(levin::LambdaLROptions{functions_of(json["lr_lambda"])});
  if (name == "MultiplicativeLR")
    return std::make_shared<levin::MultiplicativeLR>(levin::MultiplicativeLROptions{functions_of(json["lr_lambda"])});
  if (name == "CyclicLR" && json.contains("scale_fn")) {
    levin::CyclicLROptions options{.scale_fn = function_of(json["scale_fn"])};
    json.erase("class");
    json.erase("scale_fn");
    levin::schema_of<levin::CyclicLROptions>().set(&options, "", json);
    return std::make_shared<levin::CyclicLR>(options);
  }
  if (json.contains("schedulers") && json.dump().find("lr_lambda") != std::string::npos) {
    std::vector<levin::NestedLRScheduler> schedulers;
    for (const Json& inner : json["schedulers"]) schedulers.emplace_back(spec_of(inner));
    if (name == "ChainedScheduler")
      return std::make_shared<levin::ChainedScheduler>(levin::ChainedSchedulerOptions{schedulers});
    const std::vector<int64_t> milestones = json["milestones"];
    return std::make_shared<levin::SequentialLR>(levin::SequentialLROptions{schedulers, milestones});
  }
  SchedulerOptions options;
  levin::schema_of<SchedulerOptions>().set(&options, "", {{"lr_scheduler", json}});
  return options.lr_scheduler.make("lr_scheduler");
}

inline std::unique_ptr<levin::LRScheduler> bind_json(const Json& json, torch::optim::Optimizer& optimizer,
                                                     const levin::LRSchedulerContext& context = {}) {
  return spec_of(json)->bind(optimizer, context);
}

inline double momentum_of(torch::optim::OptimizerOptions& options) {
  const Json values = dynamic_cast<levin::optim::AnyGroupOptions&>(options).values();
  if (values.contains("betas")) return values["betas"][0];
  return values.value("momentum", 0.0);
}

inline double metric(int step) {
  return step % 41 == 40 ? std::numeric_limits<double>::quiet_NaN() : std::sin(0.37 * step) / (1 + 0.02 * step);
}

/// An optimizer and its scheduler: `{"optimizer": ..., "rates": [one per group], "lr_scheduler": ..., "halved_after":
/// [steps after which the rates are changed from outside]}`.
struct Scheduled {
  explicit Scheduled(const Json& json_) : json(json_) {
    const auto p = small_training::parameters();
    std::vector<torch::optim::OptimizerParamGroup> groups;
    if (json["rates"].size() == 1) {
      groups.emplace_back(p);
    } else {
      groups.emplace_back(std::vector{p[0]});
      groups.emplace_back(std::vector{p[1], p[2]});
    }
    small_training::Options options;
    levin::schema_of<small_training::Options>().set(&options, "", {{"optimizer", json["optimizer"]}});
    optimizer = options.optimizer.make("optimizer", std::move(groups));
    for (size_t i = 0; i < json["rates"].size(); ++i)
      optimizer->param_groups()[i].options().set_lr(json["rates"][i].get<double>());
    scheduler = bind_json(json["lr_scheduler"], *optimizer);
  }

  void step(int number) {
    scheduler->needs_metric() ? scheduler->step(metric(number)) : scheduler->step();
    if (!json.contains("halved_after")) return;
    for (int halved : json["halved_after"])
      if (halved == number)
        for (auto& group : optimizer->param_groups()) group.options().set_lr(group.options().get_lr() * 0.5);
  }

  /// Returns the rate and the momentum (or beta1) of each group.
  std::vector<double> row() const {
    std::vector<double> values;
    for (auto& group : optimizer->param_groups()) {
      values.push_back(group.options().get_lr());
      values.push_back(momentum_of(group.options()));
    }
    return values;
  }

  Json json;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  std::unique_ptr<levin::LRScheduler> scheduler;
};

inline const Json& all() {
  static const Json cases = Json::parse(R"([
    {"rates": [0.1], "lr_scheduler": {"class": "StepLR", "step_size": 7, "gamma": 0.9}},
    {"rates": [0.1, 0.3], "halved_after": [50, 203], "lr_scheduler": {"class": "StepLR", "step_size": 1, "gamma": 0.99}},
    {"rates": [0.1, 0.3], "halved_after": [99], "lr_scheduler":
      {"class": "MultiStepLR", "milestones": [200, 40, 40, 151], "gamma": 0.3}},
    {"rates": [0.1], "lr_scheduler": {"class": "MultiStepLR", "milestones": [0, 260]}},
    {"rates": [0.1, 0.3], "lr_scheduler": {"class": "ConstantLR"}},
    {"rates": [0.1], "halved_after": [30], "lr_scheduler": {"class": "ConstantLR", "factor": 0.7, "total_iters": 180}},
    {"rates": [0.1, 0.3], "lr_scheduler": {"class": "LinearLR"}},
    {"rates": [0.1, 0.3], "halved_after": [17, 120], "lr_scheduler":
      {"class": "LinearLR", "start_factor": 1e-3, "end_factor": 0.8, "total_iters": 222}},
    {"rates": [0.1], "lr_scheduler": {"class": "LinearLR", "start_factor": 1, "end_factor": 0, "total_iters": 200}},
    {"rates": [0.1, 0.3], "halved_after": [10], "lr_scheduler": {"class": "ExponentialLR", "gamma": 0.97}},
    {"rates": [0.1], "lr_scheduler": {"class": "PolynomialLR"}},
    {"rates": [0.1, 0.3], "halved_after": [80], "lr_scheduler":
      {"class": "PolynomialLR", "total_iters": 290, "power": 0.9}},
    {"optimizer": {"class": "Adam"}, "rates": [0.1], "lr_scheduler": {"class": "CosineAnnealingLR", "T_max": 300}},
    {"optimizer": {"class": "Adagrad"}, "rates": [0.1, 0.3], "halved_after": [55], "lr_scheduler":
      {"class": "CosineAnnealingLR", "T_max": 40, "eta_min": 0.001}},
    {"rates": [0.1, 0.3], "lr_scheduler": {"class": "CosineAnnealingWarmRestarts", "T_0": 70}},
    {"rates": [0.1], "halved_after": [20], "lr_scheduler":
      {"class": "CosineAnnealingWarmRestarts", "T_0": 11, "T_mult": 2, "eta_min": 0.002}},
    {"optimizer": {"class": "SGD", "momentum": 0.5}, "rates": [0.1, 0.3], "lr_scheduler":
      {"class": "CyclicLR", "base_lr": 0.01, "max_lr": 0.2, "step_size_up": 30}},
    {"optimizer": {"class": "Adam"}, "rates": [0.1, 0.3], "lr_scheduler":
      {"class": "CyclicLR", "base_lr": [0.01, 0.02], "max_lr": [0.1, 0.3], "step_size_up": 20, "step_size_down": 33,
       "mode": "triangular2", "base_momentum": [0.7, 0.75], "max_momentum": [0.9, 0.95]}},
    {"optimizer": {"class": "Adagrad"}, "rates": [0.1], "lr_scheduler":
      {"class": "CyclicLR", "base_lr": 0.01, "max_lr": 0.2, "step_size_up": 41, "mode": "exp_range", "gamma": 0.99,
       "cycle_momentum": false}},
    {"optimizer": {"class": "RMSprop"}, "rates": [0.1], "lr_scheduler":
      {"class": "CyclicLR", "base_lr": 0.01, "max_lr": 0.2, "step_size_up": 25, "scale_fn": "decay",
       "scale_mode": "iterations"}},
    {"optimizer": {"class": "SGD", "momentum": 0.9}, "rates": [0.1], "lr_scheduler":
      {"class": "OneCycleLR", "max_lr": 0.2, "total_steps": 300}},
    {"optimizer": {"class": "Adam"}, "rates": [0.1, 0.3], "lr_scheduler":
      {"class": "OneCycleLR", "max_lr": [0.2, 0.4], "epochs": 10, "steps_per_epoch": 31, "pct_start": 0.25,
       "anneal_strategy": "linear", "base_momentum": 0.8, "max_momentum": [0.9, 0.99]}},
    {"optimizer": {"class": "AdamW"}, "rates": [0.1], "lr_scheduler":
      {"class": "OneCycleLR", "max_lr": 0.01, "total_steps": 300, "three_phase": true, "div_factor": 10,
       "final_div_factor": 100}},
    {"optimizer": {"class": "RMSprop"}, "rates": [0.1], "lr_scheduler":
      {"class": "OneCycleLR", "max_lr": 0.01, "total_steps": 333}},
    {"optimizer": {"class": "Adagrad"}, "rates": [0.1], "lr_scheduler":
      {"class": "OneCycleLR", "max_lr": 0.01, "total_steps": 300, "cycle_momentum": false}},
    {"rates": [0.1, 0.3], "lr_scheduler": {"class": "ReduceLROnPlateau", "factor": 0.9, "patience": 4}},
    {"rates": [0.1, 0.3], "halved_after": [222], "lr_scheduler":
      {"class": "ReduceLROnPlateau", "mode": "max", "factor": 0.8, "patience": 2, "threshold": 0.01, "cooldown": 5,
       "threshold_mode": "abs", "min_lr": [0.001, 0.05]}},
    {"rates": [0.1], "lr_scheduler":
      {"class": "ReduceLROnPlateau", "mode": "max", "factor": 0.5, "patience": 0, "eps": 1e-4}},
    {"rates": [0.1], "lr_scheduler":
      {"class": "ReduceLROnPlateau", "factor": 0.7, "threshold_mode": "abs", "threshold": 0.2, "cooldown": 1}},
    {"rates": [0.1, 0.3], "lr_scheduler": {"class": "LambdaLR", "lr_lambda": ["decay", "wave"]}},
    {"rates": [0.1, 0.3], "halved_after": [99], "lr_scheduler": {"class": "MultiplicativeLR", "lr_lambda": "almost_one"}},
    {"rates": [0.1, 0.3], "lr_scheduler": {"class": "SWALR", "swa_lr": [0.05, 0.7], "anneal_epochs": 40}},
    {"rates": [0.1], "halved_after": [20, 90], "lr_scheduler":
      {"class": "SWALR", "swa_lr": 0.3, "anneal_epochs": 50, "anneal_strategy": "linear"}},
    {"rates": [0.1, 0.3], "lr_scheduler":
      {"class": "WarmupCosine", "warmup_steps": 40, "total_steps": 250, "eta_min": 0.002}},
    {"rates": [0.1], "lr_scheduler":
      {"class": "WarmupCosine", "warmup_steps": 0, "total_steps": 300, "warmup_start_factor": 0.5}},
    {"rates": [0.1, 0.3], "halved_after": [60, 180], "lr_scheduler": {"class": "SequentialLR", "milestones": [30, 200],
      "schedulers": [{"class": "LinearLR", "start_factor": 0.01, "total_iters": 30},
                     {"class": "CosineAnnealingLR", "T_max": 170, "eta_min": 0.001},
                     {"class": "ExponentialLR", "gamma": 0.98}]}},
    {"rates": [0.1], "lr_scheduler": {"class": "SequentialLR", "milestones": [50, 120, 180, 240],
      "schedulers": [{"class": "PolynomialLR", "total_iters": 60, "power": 2},
                     {"class": "MultiStepLR", "milestones": [0, 10], "gamma": 0.5},
                     {"class": "CosineAnnealingWarmRestarts", "T_0": 13, "T_mult": 2},
                     {"class": "StepLR", "step_size": 9},
                     {"class": "ConstantLR", "factor": 0.2, "total_iters": 20}]}},
    {"optimizer": {"class": "SGD", "momentum": 0.9}, "rates": [0.1, 0.3], "lr_scheduler":
      {"class": "SequentialLR", "milestones": [100],
       "schedulers": [{"class": "ExponentialLR", "gamma": 0.99}, {"class": "OneCycleLR", "max_lr": 0.5, "total_steps": 201}]}},
    {"optimizer": {"class": "AdamW"}, "rates": [0.1], "lr_scheduler": {"class": "SequentialLR", "milestones": [100],
      "schedulers": [{"class": "CyclicLR", "base_lr": 0.02, "max_lr": 0.3, "step_size_up": 17},
                     {"class": "LinearLR", "total_iters": 100}]}},
    {"rates": [0.1], "lr_scheduler": {"class": "SequentialLR", "milestones": [0, 150, 150],
      "schedulers": [{"class": "ConstantLR"}, {"class": "ExponentialLR", "gamma": 0.99},
                     {"class": "StepLR", "step_size": 4}, {"class": "LinearLR", "total_iters": 90}]}},
    {"rates": [0.1, 0.3], "lr_scheduler": {"class": "SequentialLR", "milestones": [80, 160],
      "schedulers": [{"class": "MultiplicativeLR", "lr_lambda": "almost_one"}, {"class": "LambdaLR", "lr_lambda": "decay"},
                     {"class": "MultiplicativeLR", "lr_lambda": "almost_one"}]}},
    {"rates": [0.1, 0.3], "halved_after": [150], "lr_scheduler": {"class": "ChainedScheduler",
      "schedulers": [{"class": "LinearLR", "total_iters": 100}, {"class": "ExponentialLR", "gamma": 0.99},
                     {"class": "MultiStepLR", "milestones": [200]}]}},
    {"rates": [0.1, 0.3], "halved_after": [150], "lr_scheduler": {"class": "ChainedScheduler",
      "schedulers": [{"class": "SequentialLR", "milestones": [50],
                      "schedulers": [{"class": "LinearLR", "total_iters": 50}, {"class": "PolynomialLR", "total_iters": 249}]},
                     {"class": "ExponentialLR", "gamma": 0.99}]}},
    {"rates": [0.1], "lr_scheduler": {"class": "ChainedScheduler",
      "schedulers": [{"class": "ExponentialLR", "gamma": 0.99}, {"class": "SequentialLR", "milestones": [50],
                      "schedulers": [{"class": "LinearLR", "total_iters": 50}, {"class": "StepLR", "step_size": 90}]},
                     {"class": "ChainedScheduler", "schedulers": [{"class": "ConstantLR", "total_iters": 130}]}]}},
    {"rates": [0.1, 0.3], "lr_scheduler": {"class": "SequentialLR", "milestones": [120],
      "schedulers": [{"class": "ChainedScheduler", "schedulers": [{"class": "CosineAnnealingLR", "T_max": 120},
                       {"class": "PolynomialLR", "total_iters": 200}, {"class": "ExponentialLR", "gamma": 0.99}]},
                     {"class": "StepLR", "step_size": 60}]}},
    {"rates": [0.1], "lr_scheduler": {"class": "SequentialLR", "milestones": [200],
      "schedulers": [{"class": "SequentialLR", "milestones": [40], "schedulers": [
                       {"class": "LinearLR", "total_iters": 40}, {"class": "CosineAnnealingLR", "T_max": 160}]},
                     {"class": "ExponentialLR", "gamma": 0.9}]}}
  ])");
  static const Json complete = [] {
    Json filled = cases;
    for (Json& one : filled)
      if (!one.contains("optimizer")) one["optimizer"] = {{"class", "SGD"}};
    return filled;
  }();
  return complete;
}

}  // namespace scheduler_cases
