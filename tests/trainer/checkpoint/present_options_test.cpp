// Runs that are resumed with other rates, weight decay, groups or schedules (resume_optimizer_options "present").
#include <levin/trainer/checkpoint/optimizer_groups.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

using Optimizers = std::function<levin::OptimizerConfig(ToyModule&)>;

constexpr int64_t kStepsBefore = 5, kSteps = 11;

Optimizers adam(double lr, double weight_decay = 0) {
  return [=](ToyModule& module) {
    return levin::OptimizerConfig(levin::optim::AdamW(module.parameters(), {.lr = lr, .weight_decay = weight_decay}));
  };
}

/// Trains in steps of one batch; `before_step` may change the options of the optimizer.
struct Training {
  levin::Session start(const std::shared_ptr<ToyModule>& module, const Optimizers& optimizers, int64_t steps,
                       const std::string& from = {}, const std::string& options_of = "present") const {
    levin::TrainerOptions options = quiet(folder);
    options.seed = 3;
    options.max_steps = steps;
    options.resume_optimizer_options = options_of;
    module->optimizers_of = optimizers;
    return levin::Trainer(options).start(module, {.ckpt_path = from});
  }
  void steps(levin::Session& session) const {
    while (session.next()) session.step(levin::Batch(data.input, data.target));
  }
  /// Saves a run of kStepsBefore steps.
  std::string saved(const Optimizers& optimizers) const {
    levin::Session session = start(new_toy(), optimizers, kStepsBefore);
    steps(session);
    const std::filesystem::path file = std::filesystem::absolute(folder / "middle.ckpt");
    session.save(file);
    session.finish();
    return file.string();
  }
  static std::shared_ptr<ToyModule> new_toy() {
    torch::manual_seed(1);
    return std::make_shared<ToyModule>();
  }
  TemporaryFolder folder;
  ToyData data{8};
};

}  // namespace

TEST_CASE("present options win over the saved ones, and moments and steps are kept") {
  const Training training;
  const auto changed = Training::new_toy(), resumed = Training::new_toy();
  levin::Session unbroken = training.start(changed, adam(0.01), kSteps);
  while (unbroken.next()) {
    if (unbroken.state().global_step == kStepsBefore)
      for (auto& group : unbroken.optimizer().raw().param_groups()) {
        group.options().set_lr(0.05);
        static_cast<levin::optim::GroupOptions<levin::optim::AdamWOptions>&>(group.options()).options.weight_decay =
            0.3;
      }
    unbroken.step(levin::Batch(training.data.input, training.data.target));
  }
  levin::Session session = training.start(resumed, adam(0.05, 0.3), kSteps, training.saved(adam(0.01)));
  CHECK(session.optimizer().lr() == 0.05);
  training.steps(session);
  CHECK(bit_equal(changed->parameters(), resumed->parameters()));
}

TEST_CASE("by default the saved options win") {
  const Training training;
  levin::Session session = training.start(Training::new_toy(), adam(0.05), kSteps, training.saved(adam(0.01)), "saved");
  CHECK(session.optimizer().lr() == 0.01);
}

TEST_CASE("groups may change: each parameter finds its state by its name") {
  const Training training;
  const auto regrouped = [](ToyModule& module) {
    const std::vector<torch::Tensor> all = module.parameters();  // weight, bias, weight, bias
    using levin::optim::param_group;
    const levin::optim::AdamWOptions options{.lr = 0.01, .weight_decay = 0};
    return levin::OptimizerConfig(
        levin::optim::AdamW({param_group({all[3], all[1]}, options), param_group({all[0], all[2]}, options)}));
  };
  const auto unbroken = Training::new_toy(), resumed = Training::new_toy();
  levin::Session expected = training.start(unbroken, adam(0.01), kSteps);
  training.steps(expected);
  levin::Session session = training.start(resumed, regrouped, kSteps, training.saved(adam(0.01)));
  training.steps(session);
  CHECK(bit_equal(unbroken->parameters(), resumed->parameters()));
  // The other way round, and as an error without the option.
  const auto back = Training::new_toy();
  const std::string file = training.saved(regrouped);
  levin::Session again = training.start(back, adam(0.01), kSteps, file);
  training.steps(again);
  CHECK(bit_equal(unbroken->parameters(), back->parameters()));
  CHECK(contains(error_text([&] { training.start(Training::new_toy(), adam(0.01), kSteps, file, "saved"); }), "group"));
}

TEST_CASE("a parameter that was not trained before begins without state") {
  const Training training;
  const auto last_layer = [](ToyModule& module) {
    const std::vector<torch::Tensor> all = module.parameters();
    return levin::OptimizerConfig(levin::optim::AdamW({all[2], all[3]}, {.lr = 0.01}));
  };
  const auto module = Training::new_toy();
  levin::Session session = training.start(module, adam(0.01), kSteps, training.saved(last_layer));
  const levin::State state = levin::optim::optimizer_state_dict(session.optimizer().raw());
  CHECK(state.at("state").find(0) == nullptr);
  REQUIRE(state.at("state").find(2) != nullptr);
  CHECK(state.at("state").at(2).at("step").to_tensor().item<double>() == kStepsBefore);
  training.steps(session);
}

TEST_CASE("a present schedule continues at the place where the run is") {
  const Training training;
  const auto scheduled = [](auto scheduler) -> Optimizers {
    return [scheduler](ToyModule& module) -> levin::OptimizerConfig {
      return {levin::optim::AdamW(module.parameters(), {.lr = 0.5}), scheduler};
    };
  };
  const std::string file = training.saved(adam(0.01));
  const auto rate = [&](const Optimizers& optimizers) {
    return training.start(Training::new_toy(), optimizers, kSteps, file).optimizer().lr();
  };
  CHECK(rate(scheduled(levin::LambdaLR({.lr_lambda = [](int64_t step) { return 1.0 / static_cast<double>(1 + step); }},
                                       {.interval = "step"}))) == 0.5 / 6);
  CHECK(rate(scheduled(levin::ExponentialLR({.gamma = 0.5}, {.interval = "step", .frequency = 2}))) == 0.125);
  CHECK(rate(scheduled(levin::ExponentialLR({.gamma = 0.5}))) == 0.5);  // no epoch has ended
  // And from a schedule to none.
  const std::string with = training.saved(scheduled(levin::ExponentialLR({.gamma = 0.5}, {.interval = "step"})));
  CHECK(training.start(Training::new_toy(), adam(0.25), kSteps, with).optimizer().lr() == 0.25);
  CHECK(contains(error_text([&] { training.start(Training::new_toy(), adam(0.25), kSteps, with, "saved"); }),
                 "it has 1 learning-rate schedulers, configure_optimizers returned 0"));
}

TEST_CASE("a checkpoint without names must have the same parameters") {
  const auto module = Training::new_toy();
  const std::vector<torch::Tensor> all = module->parameters();
  levin::optim::SGD before({all[0], all[1]}, {.lr = 0.1}), now(all, {.lr = 0.2});
  const levin::State saved = levin::optim::optimizer_state_dict(before);
  CHECK(contains(
      error_text([&] { levin::with_present_groups(now, levin::names_of_groups(now, *module), saved, nullptr); }),
      "the optimizer was saved with 2 parameters, whose names the checkpoint does not hold, and has 4 now"));
  levin::optim::SGD same({all[2], all[3]}, {.lr = 0.2});
  const levin::State state = levin::with_present_groups(same, levin::names_of_groups(same, *module), saved, nullptr);
  CHECK(state.at("param_groups").items()[0].at("lr").to_double() == 0.2);
}
