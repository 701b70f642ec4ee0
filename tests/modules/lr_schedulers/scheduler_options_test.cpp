// Options of the schedulers: spellings in C++ and JSON, what "auto" means, and the messages for bad ones.
#include <levin/modules/lr_schedulers/constant_lr.h>
#include <levin/modules/lr_schedulers/cosine_annealing_lr.h>
#include <levin/modules/lr_schedulers/cosine_annealing_warm_restarts.h>
#include <levin/modules/lr_schedulers/exponential_lr.h>
#include <levin/modules/lr_schedulers/linear_lr.h>
#include <levin/modules/lr_schedulers/multi_step_lr.h>
#include <levin/modules/lr_schedulers/one_cycle_lr.h>
#include <levin/modules/lr_schedulers/polynomial_lr.h>
#include <levin/modules/lr_schedulers/reduce_lr_on_plateau.h>
#include <levin/modules/lr_schedulers/step_lr.h>
#include <levin/modules/lr_schedulers/warmup_cosine.h>
#include <torch/optim/sgd.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/lr_schedulers/scheduler_cases.h"

using levin::LRSchedulerContext;
using levin::State;
using levin::UsageError;
using scheduler_cases::bind_json;
using scheduler_cases::Json;
using small_training::make;
using small_training::parameters;

namespace {

std::unique_ptr<torch::optim::Optimizer> sgd() { return make({{"class", "SGD"}, {"lr", 1.0}}, parameters()); }

std::unique_ptr<torch::optim::SGD> sgd_of_two_groups() {
  const auto p = parameters();
  return std::make_unique<torch::optim::SGD>(
      std::vector{torch::optim::OptimizerParamGroup({p[0]}), torch::optim::OptimizerParamGroup({p[1]})},
      torch::optim::SGDOptions(0.1));
}

LRSchedulerContext run_of(std::optional<int64_t> steps) {
  return {.total_steps = [steps] { return steps; }};
}

/// Checks that `make_it` throws a usage error that contains `part`.
void says(const std::function<void()>& make_it, const std::string& part) {
  const std::string text = error_text<UsageError>(make_it);
  INFO(text);
  CHECK(contains(text, part));
}

}  // namespace

TEST_CASE("each parameter group has its rates") {
  const auto two = sgd_of_two_groups();
  const levin::OneCycleLR spec({.max_lr = {0.25, 0.5}, .total_steps = 100}, {.interval = "step"});
  CHECK(spec.config.interval == levin::Interval::Step);
  const auto scheduler = spec.bind(*two, {});
  CHECK(std::abs(scheduler->last_lr().at(0) - 0.01) < 1e-12);
  CHECK(std::abs(scheduler->last_lr().at(1) - 0.02) < 1e-12);
}

TEST_CASE("the spelling in C++ and that in JSON mean the same") {
  const levin::SequentialLR spec(
      {.schedulers = {levin::LinearLR({.start_factor = 0.1, .total_iters = 4}),
                      levin::ChainedScheduler({.schedulers = {levin::StepLR({.step_size = 1})}}),
                      std::make_shared<levin::StepLR>(levin::StepLROptions{.step_size = 2})},
       .milestones = {4, 6}},
      {.interval = "step"});
  const auto misplaced = sgd();
  says([&] { spec.bind(*misplaced, {}); }, "SequentialLR.schedulers[1]: a SequentialLR or ChainedScheduler");

  const levin::SequentialLR right(
      {.schedulers = {levin::LinearLR({.start_factor = 0.1, .total_iters = 4}), levin::ExponentialLR({.gamma = 0.5}),
                      std::make_shared<levin::StepLR>(levin::StepLROptions{.step_size = 2})},
       .milestones = {4, 6}});
  const auto from_cpp = sgd(), from_json = sgd();
  const auto a = right.bind(*from_cpp, {});
  const auto b =
      bind_json(Json::parse(R"({"class": "SequentialLR", "interval": "step", "milestones": [4, 6], "schedulers": [
    {"class": "LinearLR", "start_factor": 0.1, "total_iters": 4}, {"class": "ExponentialLR", "gamma": 0.5},
    {"class": "StepLR", "step_size": 2}]})"),
                *from_json);
  for (int i = 0; i < 12; ++i) {
    CHECK(a->last_lr() == b->last_lr());
    a->step(), b->step();
  }
  CHECK(a->last_lr()[0] < 1e-2);
}

TEST_CASE("nested schedulers are written as a config that reads back") {
  scheduler_cases::SchedulerOptions options;
  const auto& schema = levin::schema_of<scheduler_cases::SchedulerOptions>();
  const Json json = Json::parse(R"({"lr_scheduler": {"class": "SequentialLR", "schedulers":
    [{"class": "ChainedScheduler", "schedulers": ["LinearLR", {"class": "ExponentialLR", "gamma": 0.5}]}, "PolynomialLR"],
    "milestones": [7]}})");
  schema.set(&options, "", json);
  const Json written = schema.get(&options);
  const Json& first = written["lr_scheduler"]["schedulers"][0];
  CHECK(first["schedulers"][0]["total_iters"] == 5);
  CHECK(first["schedulers"][1]["gamma"] == 0.5);
  CHECK_FALSE(first.contains("interval"));
  CHECK(written["lr_scheduler"]["interval"] == "epoch");
  scheduler_cases::SchedulerOptions again;
  schema.set(&again, "", written);
  CHECK(schema.get(&again) == written);

  options.lr_scheduler = {"SequentialLR", levin::SequentialLROptions{.schedulers = {levin::LinearLR({})}}};
  CHECK_THROWS_AS(schema.check(&options, ""), UsageError);
}

TEST_CASE("total_steps auto is the length of the run") {
  SECTION("of OneCycleLR, every second step") {
    const auto optimizer = sgd();
    const Json json = {{"class", "OneCycleLR"}, {"max_lr", 0.1}, {"interval", "step"}, {"frequency", 2}};
    const auto scheduler = bind_json(json, *optimizer, run_of(20));
    for (int i = 0; i < 10; ++i) scheduler->step();
    says([&] { scheduler->step(); },
         "OneCycleLR: step 11 is beyond total_steps = 10; train for fewer steps, set when_longer to \"hold\"");
  }
  SECTION("of WarmupCosine, which stays at the lowest rate") {
    const auto optimizer = sgd();
    const auto scheduler =
        levin::WarmupCosine({.warmup_steps = 5, .eta_min = 0.25}, {.interval = "step"}).bind(*optimizer, run_of(20));
    std::vector<double> rates = scheduler->last_lr();
    for (int i = 0; i < 25; ++i) {
      scheduler->step();
      rates.push_back(scheduler->last_lr()[0]);
    }
    CHECK(rates[0] == 0.01);
    CHECK(rates[5] == 1.0);
    CHECK(rates[19] > 0.25);
    CHECK(rates[20] == 0.25);
    CHECK(rates[25] == 0.25);
  }
  SECTION("inside SequentialLR what is left of it") {
    const auto optimizer = sgd();
    const levin::SequentialLR spec({.schedulers = {levin::WarmupCosine({.warmup_steps = 0, .eta_min = 0.5}),
                                                   levin::WarmupCosine({.warmup_steps = 0, .eta_min = 0.25})},
                                    .milestones = {8}},
                                   {.interval = "step"});
    const auto scheduler = spec.bind(*optimizer, run_of(20));
    for (int i = 0; i < 7; ++i) scheduler->step();
    CHECK(scheduler->last_lr()[0] < 0.55);
    scheduler->step();
    CHECK(scheduler->last_lr()[0] == 1);
    for (int i = 0; i < 11; ++i) scheduler->step();
    CHECK(scheduler->last_lr()[0] > 0.25);
    scheduler->step();
    CHECK(scheduler->last_lr()[0] == 0.25);
  }
}

TEST_CASE("WarmupCosine is a LinearLR and then a CosineAnnealingLR") {
  const auto ours = sgd(), theirs = sgd();
  const auto a =
      levin::WarmupCosine({.warmup_steps = 10, .total_steps = 100, .warmup_start_factor = 0.1, .eta_min = 0.01})
          .bind(*ours, {});
  const auto b = levin::SequentialLR({.schedulers = {levin::LinearLR({.start_factor = 0.1, .total_iters = 10}),
                                                     levin::CosineAnnealingLR({.T_max = 90, .eta_min = 0.01})},
                                      .milestones = {10}})
                     .bind(*theirs, {});
  for (int i = 0; i <= 100; ++i) {
    CHECK(std::abs(a->last_lr()[0] - b->last_lr()[0]) < 1e-12);
    a->step(), b->step();
  }
}

TEST_CASE("bad arguments are usage errors that name the option") {
  using namespace levin;
  const auto adagrad = make({{"class", "Adagrad"}}, parameters());
  const auto one = sgd();
  const auto two = sgd_of_two_groups();
  const auto constant = [](int64_t) { return 1.0; };
  const std::vector<std::pair<std::function<void()>, std::string>> cases = {
      {[] { StepLR({}); }, "StepLR.step_size: missing"},
      {[] { StepLR({.step_size = 0}); }, "StepLR.step_size: expected at least 1, got 0"},
      {[] { StepLR({.step_size = 1}, {.interval = "batch"}); }, "lr_scheduler.interval: "},
      {[] { StepLR({.step_size = 1}, {.frequency = 0}); }, "lr_scheduler.frequency: "},
      {[] { MultiStepLR({}); }, "MultiStepLR.milestones: missing"},
      {[] { ConstantLR({.factor = 1.1}); }, "ConstantLR.factor: expected more than 0 and at most 1"},
      {[] { ConstantLR({.factor = -0.1}); }, "ConstantLR.factor: "},
      {[] { ConstantLR({.total_iters = -1}); }, "ConstantLR.total_iters: "},
      {[] { LinearLR({.start_factor = 0}); }, "LinearLR.start_factor: expected more than 0 and at most 1"},
      {[] { LinearLR({.start_factor = 1.1}); }, "LinearLR.start_factor: "},
      {[] { LinearLR({.end_factor = -0.1}); }, "LinearLR.end_factor: expected at least 0 and at most 1"},
      {[] { LinearLR({.end_factor = 1.1}); }, "LinearLR.end_factor: "},
      {[] { ExponentialLR({}); }, "ExponentialLR.gamma: missing"},
      {[] { PolynomialLR({.total_iters = -1}); }, "PolynomialLR.total_iters: "},
      {[] { CosineAnnealingLR({}); }, "CosineAnnealingLR.T_max: missing"},
      {[] { CosineAnnealingWarmRestarts({}); }, "CosineAnnealingWarmRestarts.T_0: missing"},
      {[] { CosineAnnealingWarmRestarts({.T_0 = 0}); }, "CosineAnnealingWarmRestarts.T_0: expected at least 1"},
      {[] { CosineAnnealingWarmRestarts({.T_0 = 1, .T_mult = 0}); }, "CosineAnnealingWarmRestarts.T_mult: "},
      {[] { CyclicLR({.max_lr = 1}); }, "CyclicLR.base_lr: missing"},
      {[] { CyclicLR({.base_lr = 1}); }, "CyclicLR.max_lr: missing"},
      {[] { CyclicLR({.base_lr = 0.1, .max_lr = 1, .step_size_up = 0}); }, "CyclicLR.step_size_up: "},
      {[] { CyclicLR({.base_lr = 0.1, .max_lr = 1, .mode = "triangle"}); }, "CyclicLR.mode: "},
      {[] { CyclicLR({.base_lr = 0.1, .max_lr = 1, .scale_mode = "steps"}); }, "CyclicLR.scale_mode: "},
      {[&] { CyclicLR({.base_lr = {0.1, 0.2}, .max_lr = 1}).bind(*one, {}); }, "CyclicLR.base_lr: expected one number"},
      {[&] { CyclicLR({.base_lr = 0.1, .max_lr = {1, 2}}).bind(*one, {}); }, "CyclicLR.max_lr: expected one number"},
      {[&] { CyclicLR({.base_lr = 0.1, .max_lr = 1, .base_momentum = {1, 2, 3}}).bind(*two, {}); },
       "CyclicLR.base_momentum: expected one number"},
      {[&] { CyclicLR({.base_lr = 0.1, .max_lr = 1}).bind(*adagrad, {}); }, "CyclicLR.cycle_momentum: the optimizer"},
      {[] { OneCycleLR({}); }, "OneCycleLR.max_lr: missing"},
      {[] { OneCycleLR({.max_lr = -1}); }, "OneCycleLR.max_lr: expected at least 0"},
      {[] { OneCycleLR({.max_lr = 1, .total_steps = 0}); }, "OneCycleLR.total_steps: "},
      {[] { OneCycleLR({.max_lr = 1, .epochs = 0}); }, "OneCycleLR.epochs: "},
      {[] { OneCycleLR({.max_lr = 1, .steps_per_epoch = 0}); }, "OneCycleLR.steps_per_epoch: "},
      {[] { OneCycleLR({.max_lr = 1, .pct_start = 1.1}); }, "OneCycleLR.pct_start: "},
      {[] { OneCycleLR({.max_lr = 1, .anneal_strategy = "cosine"}); }, "did you mean cos?"},
      {[&] { OneCycleLR({.max_lr = 1, .total_steps = 9}).bind(*adagrad, {}); }, "set cycle_momentum to false"},
      {[&] { OneCycleLR({.max_lr = 1, .total_steps = 10, .pct_start = 0.1}).bind(*one, {}); }, "has no length"},
      {[&] { OneCycleLR({.max_lr = {1, 2, 3}, .total_steps = 9}).bind(*two, {}); },
       "OneCycleLR.max_lr: expected one number, or one for each of"},
      {[&] { OneCycleLR({.max_lr = 1, .pct_start = 1}, {.interval = "step"}).bind(*one, run_of(9)); }, "has no length"},
      {[&] { OneCycleLR({.max_lr = 1}).bind(*one, run_of(9)); }, "set interval to \"step\""},
      {[&] { OneCycleLR({.max_lr = 1}, {.interval = "step"}).bind(*one, run_of({})); }, "needs a run of known length"},
      {[] { WarmupCosine({}); }, "WarmupCosine.warmup_steps: missing"},
      {[] { WarmupCosine({.warmup_steps = 1, .warmup_start_factor = 2}); }, "WarmupCosine.warmup_start_factor: "},
      {[&] { WarmupCosine({.warmup_steps = 5, .total_steps = 5}).bind(*one, {}); },
       "WarmupCosine.warmup_steps: expected less than total_steps = 5, got 5"},
      {[] { ReduceLROnPlateau({.mode = "low"}); }, "ReduceLROnPlateau.mode: expected one of min, max"},
      {[] { ReduceLROnPlateau({.factor = 1}); }, "ReduceLROnPlateau.factor: "},
      {[] { ReduceLROnPlateau({.threshold_mode = "x"}); }, "ReduceLROnPlateau.threshold_mode: "},
      {[&] { ReduceLROnPlateau({.min_lr = {1, 2}}).bind(*one, {}); }, "ReduceLROnPlateau.min_lr: expected one number"},
      {[&] { ReduceLROnPlateau({}).bind(*one, {})->step(); }, "ReduceLROnPlateau: step needs the metric"},
      {[] { LambdaLR({}); }, "LambdaLR.lr_lambda: missing; give a function of the epoch"},
      {[] { LambdaLR({.lr_lambda = {nullptr}}); }, "LambdaLR.lr_lambda[0]: expected a function"},
      {[&] { LambdaLR({.lr_lambda = {constant, constant}}).bind(*one, {}); },
       "LambdaLR.lr_lambda: expected one function, or one for each of the optimizer's 1 parameter groups, got 2"},
      {[&] { MultiplicativeLR({}).bind(*one, {}); }, "MultiplicativeLR.lr_lambda: missing"},
      {[] { SequentialLR({}); }, "SequentialLR.schedulers: missing"},
      {[] { SequentialLR({.schedulers = {LinearLR({}), LinearLR({})}}); },
       "SequentialLR.milestones: expected one fewer than the 2 schedulers, got 0"},
      {[] { SequentialLR({.schedulers = {LinearLR({}), LinearLR({}), LinearLR({})}, .milestones = {5, 3}}); },
       "SequentialLR.milestones: expected rising numbers"},
      {[] { SequentialLR({.schedulers = {LinearLR({}), LinearLR({})}, .milestones = {-1}}); },
       "SequentialLR.milestones[0]: expected at least 0"},
      {[&] { SequentialLR({.schedulers = {ReduceLROnPlateau({})}}).bind(*one, {}); },
       "SequentialLR.schedulers[0]: a scheduler that follows a metric cannot be inside another"},
      {[] { SequentialLR({.schedulers = {LinearLR({}, {.interval = "step"})}}); },
       "SequentialLR.schedulers[0]: a scheduler inside another steps with it"},
      {[] { ChainedScheduler({}); }, "ChainedScheduler.schedulers: missing"},
      {[&] { ChainedScheduler({.schedulers = {LinearLR({}), ReduceLROnPlateau({})}}).bind(*one, {}); },
       "ChainedScheduler.schedulers[1]: a scheduler that follows a metric"},
      {[] { ChainedScheduler({.schedulers = {levin::NestedLRScheduler()}}); }, "ChainedScheduler.schedulers[0]: "},
  };
  for (const auto& [make_it, part] : cases) {
    says(make_it, part);
  }
}

TEST_CASE("bad scheduler configs are usage errors that name the place") {
  const auto one = sgd();
  const std::vector<std::pair<const char*, std::string>> cases = {
      {R"({"class": "OneCycleLR", "max_lr": "high"})", "lr_scheduler.max_lr: expected a number or"},
      {R"({"class": "StepLR", "step": 3})", "lr_scheduler.step: no such option"},
      {R"({"class": "SequentialLR", "schedulers": [{"class": "StepLR", "step_size": 1, "interval": "epoch"}]})",
       "lr_scheduler.schedulers[0].interval: a scheduler inside another steps with it; give interval to the outermost"},
      {R"({"class": "ChainedScheduler", "schedulers": ["LinearLR", {"class": "StepLR", "strict": true}]})",
       "lr_scheduler.schedulers[1].strict: a scheduler inside another"},
      {R"({"class": "SequentialLR", "schedulers": [{"class": "LinearLr"}]})",
       "lr_scheduler.schedulers[0].class: no lr_scheduler 'LinearLr' (did you mean LinearLR?)"},
      {R"({"class": "SequentialLR", "schedulers": [{"class": "StepLR", "step_size": 0}]})",
       "lr_scheduler.schedulers[0].step_size: expected at least 1, got 0"},
      {R"({"class": "SequentialLR", "schedulers": [{"class": "LinearLR"}, {"total_iters": 3}]})",
       "lr_scheduler.schedulers[1].class: missing"},
  };
  for (const auto& [json, part] : cases) {
    INFO(json);
    says([json = json, &one] { bind_json(Json::parse(json), *one); }, part);
  }
  // spec_of makes those with functions itself, so these go to the registry directly.
  scheduler_cases::SchedulerOptions options;
  const auto& schema = levin::schema_of<scheduler_cases::SchedulerOptions>();
  const auto with_text = [&] {
    schema.set(&options, "", {{"lr_scheduler", {{"class", "LambdaLR"}, {"lr_lambda", "lambda epoch: 0.95"}}}});
  };
  says(with_text,
       "lr_scheduler.lr_lambda: a config cannot hold a function; make the scheduler in C++, or name another");
  const auto by_name = [&] {
    schema.set(&options, "", {{"lr_scheduler", "MultiplicativeLR"}});
    options.lr_scheduler.make("lr_scheduler");
  };
  says(by_name, "a config cannot hold a function");
}

TEST_CASE("a state that does not fit is refused") {
  const auto one = sgd();
  const auto step_lr = levin::StepLR({.step_size = 3}).bind(*one, {});
  says([&] { step_lr->load_state_dict(State::dict({{"base_lrs", State::list()}})); },
       "base_lrs for 0 parameter groups, the optimizer has 1");
  CHECK_THROWS_AS(step_lr->load_state_dict(State::dict()), levin::Error);
  const auto chained = levin::ChainedScheduler({.schedulers = {levin::LinearLR({})}}).bind(*one, {});
  says([&] { chained->load_state_dict(State::dict({{"_schedulers", State::list()}})); },
       "the scheduler's state holds 0 schedulers, the scheduler 1");
}

TEST_CASE("an automatic schedule of a run that is cut short is the beginning of a longer one") {
  const auto optimizer = sgd();
  const auto bound = levin::WarmupCosine({.warmup_steps = 4, .warmup_start_factor = 0}, {.interval = "step"})
                         .bind(*optimizer, run_of(2));
  std::vector<double> rates = {optimizer->param_groups()[0].options().get_lr()};
  for (int i = 0; i < 2; ++i) {
    bound->step();
    rates.push_back(optimizer->param_groups()[0].options().get_lr());
  }
  CHECK((rates == std::vector<double>{0, 0.25, 0.5}));
  CHECK_NOTHROW(levin::OneCycleLR({.max_lr = 1, .pct_start = 0.5}, {.interval = "step"}).bind(*sgd(), run_of(2)));
}
