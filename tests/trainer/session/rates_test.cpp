// Rates that the host sets, and parameters that it freezes, between the steps of a session.
#include <cmath>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/session/sessions.h"

namespace {

double rate_at(int64_t step) { return 0.1 / static_cast<double>(step + 1); }

/// Two groups: the first layer's and the last one's.
levin::OptimizerConfig two_groups(ToyModule& module) {
  const std::vector<torch::Tensor> all = module.parameters();
  return levin::optim::Adam({levin::optim::param_group({all[0], all[1]}, levin::optim::AdamOptions{.lr = 0.01}),
                             levin::optim::param_group({all[2], all[3]}, levin::optim::AdamOptions{.lr = 0.02})});
}

}  // namespace

TEST_CASE("a rate that is set before each step trains as a schedule that gives the same rates") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 6;
  const ToyData data(8);
  const auto scheduled = new_module(), driven = new_module();
  scheduled->optimizers_of = [](ToyModule& module) -> levin::OptimizerConfig {
    return {torch::optim::SGD(module.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9)),
            levin::LambdaLR({.lr_lambda = [](int64_t step) { return rate_at(step) / 0.1; }}, {.interval = "step"})};
  };
  driven->optimizers_of = [](ToyModule& module) {
    return levin::OptimizerConfig(torch::optim::SGD(module.parameters(), torch::optim::SGDOptions(0.7).momentum(0.9)));
  };
  levin::Session expected = levin::Trainer(options).start(scheduled);
  while (expected.next()) expected.step(batch_of(data));
  levin::Session session = levin::Trainer(options).start(driven);
  CHECK(session.optimizer().lr() == 0.7);
  while (session.next()) {
    session.optimizer(0).set_lr(rate_at(session.state().global_step) / 0.1 * 0.1);
    session.step(batch_of(data));
  }
  CHECK(bit_equal(scheduled->parameters(), driven->parameters()));
}

TEST_CASE("groups have rates of their own") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 3;
  const ToyData data(8);
  const auto module = new_module();
  module->optimizers_of = two_groups;
  levin::Session session = levin::Trainer(options).start(module);
  levin::LightningOptimizer optimizer = session.optimizer();
  REQUIRE(optimizer.groups() == 2);
  CHECK(optimizer.lr(1) == 0.02);
  optimizer.set_lr(0, 1);
  const std::vector<torch::Tensor> before = copies(module->parameters());
  session.step(batch_of(data));
  CHECK_FALSE(torch::equal(module->parameters()[0], before[0]));
  CHECK(torch::equal(module->parameters()[2], before[2]));
  CHECK(optimizer.lr(0) == 0.01);
  optimizer.set_lr(0.5);
  CHECK(optimizer.lr(0) == 0.5);
  CHECK(optimizer.lr(1) == 0.5);
  CHECK(error_text([&] { optimizer.set_lr(0.1, 2); }) ==
        "optimizer.set_lr: there is no parameter group 2, the optimizer has 2; groups are made in "
        "configure_optimizers");
  CHECK(error_text([&] { optimizer.set_lr(-1); }) == "optimizer.set_lr: expected a finite rate of at least 0, got -1");
  CHECK_THROWS_AS(optimizer.set_lr(std::nan("")), levin::UsageError);
}

TEST_CASE("a scheduler that continues from the current rates keeps a rate that was set; one with a formula does not") {
  const ToyData data(8);
  const auto rate_after_step = [&](const auto& scheduler) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = options_in(folder);
    options.max_steps = 5;
    const auto module = new_module();
    module->optimizers_of = [&](ToyModule& one) -> levin::OptimizerConfig {
      return {torch::optim::SGD(one.parameters(), 0.1), scheduler};
    };
    levin::Session session = levin::Trainer(options).start(module);
    session.step(batch_of(data));
    session.optimizer().set_lr(4);
    session.step(batch_of(data));
    return session.optimizer().lr();
  };
  CHECK(rate_after_step(levin::ExponentialLR({.gamma = 0.5}, {.interval = "step"})) == 2);
  CHECK(rate_after_step(levin::LambdaLR({.lr_lambda = [](int64_t) { return 0.5; }}, {.interval = "step"})) == 0.05);
}

TEST_CASE("a rate that the host has set is in the checkpoint") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.max_steps = 4;
  const ToyData data(8);
  const auto file = std::filesystem::absolute(folder / "middle.ckpt");
  {
    levin::Session session = levin::Trainer(options).start(new_module());
    session.step(batch_of(data));
    session.optimizer().set_lr(0.3125);
    session.save(file);
  }
  levin::Session resumed = levin::Trainer(options).start(new_module(), {.ckpt_path = file.string()});
  CHECK(resumed.optimizer().lr() == 0.3125);
}

TEST_CASE("parameters that are frozen between steps stay as they are, and train on when they are unfrozen") {
  for (const bool momentum : {false, true}) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = options_in(folder);
    options.max_steps = 9;
    const ToyData data(8);
    const auto module = new_module();
    module->optimizers_of = [&](ToyModule& one) -> levin::OptimizerConfig {
      if (momentum) return torch::optim::SGD(one.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
      return levin::optim::Adam(one.parameters(), {.lr = 0.05});
    };
    levin::Session session = levin::Trainer(options).start(module);
    const std::vector<torch::Tensor> parameters = module->parameters();
    for (int64_t i = 0; session.next(); ++i) {
      const bool frozen = i % 3 == 1;
      for (size_t p = 0; p < 2; ++p) parameters[p].requires_grad_(!frozen);
      const std::vector<torch::Tensor> before = copies(parameters);
      session.step(batch_of(data));
      CHECK(torch::equal(parameters[0], before[0]) == frozen);
      CHECK(torch::equal(parameters[1], before[1]) == frozen);
      CHECK_FALSE(torch::equal(parameters[2], before[2]));
    }
  }
}
