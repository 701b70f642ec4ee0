// A module before, between and after runs: its modes, one run at a time, and runs that outlive it.
#include <thread>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

levin::TrainerOptions two_steps(const TemporaryFolder& folder) {
  levin::TrainerOptions options = quiet(folder);
  options.max_steps = 2;
  return options;
}

/// Throws in an evaluation, once.
struct Throwing : ToyModule {
  Throwing() : ToyModule(/*dropout=*/0.5) {}
  void validation_step(const levin::Batch&, int64_t) override { fail(); }
  void test_step(const levin::Batch&, int64_t) override { fail(); }
  levin::Batch predict_step(const levin::Batch&, int64_t) override {
    fail();
    return {};
  }
  void fail() {
    if (std::exchange(fails, false)) throw std::runtime_error("out of luck");
  }
  std::vector<bool> modes() const {
    std::vector<bool> found = {is_training()};
    for (const auto& part : modules(/*include_self=*/false)) found.push_back(part->is_training());
    return found;
  }
  bool fails = true;
};

}  // namespace

TEST_CASE("an exception in an evaluation leaves each part of the module in its mode") {
  const TemporaryFolder folder;
  const ToyData data(8);
  Throwing module;
  module.net[0]->eval();
  const std::vector<bool> before = module.modes();
  levin::Trainer trainer(two_steps(folder));
  const std::vector<std::function<void()>> evaluations = {
      [&] { trainer.fit(module, data.loader(4), data.loader(4)); },
      [&] { trainer.validate(module, data.loader(4)); },
      [&] { trainer.test(module, data.loader(4)); },
      [&] { trainer.predict(module, data.loader(4)); },
  };
  for (const auto& evaluate : evaluations) {
    module.fails = true;
    CHECK_THROWS_AS(evaluate(), std::runtime_error);
    CHECK(module.modes() == before);
    CHECK_FALSE(module.in_run());
  }
}

TEST_CASE("a fit that begins with parts in eval mode warns of them") {
  const TemporaryFolder folder;
  const ToyData data(8);
  const auto warnings_of = [&](ToyModule& module) {
    const CapturedStderr captured;
    levin::Trainer(two_steps(folder)).fit(module, data.loader(4));
    return captured.text();
  };
  ToyModule trains, part, whole;
  part.net[2]->eval();
  whole.eval();
  CHECK_FALSE(contains(warnings_of(trains), "eval mode"));
  CHECK(contains(warnings_of(part), "fit begins with 1 module in eval mode (net.2)"));
  CHECK(contains(warnings_of(whole), "fit begins with 6 modules in eval mode (the module itself, ...)"));
}

TEST_CASE("a module takes part in one run at a time, and its own run goes on") {
  struct Nested : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if (inside.empty()) inside = error_inside();
      return ToyModule::training_step(batch, batch_idx);
    }
    void validation_step(const levin::Batch&, int64_t) override {}
    std::string error_inside() {
      const TemporaryFolder folder;
      levin::Trainer other(two_steps(folder));
      return error_text<levin::UsageError>([&] { other.fit(*this, ToyData(8).loader(4)); });
    }
    std::string inside = {};
  };
  const TemporaryFolder folder;
  const ToyData data(8);
  Nested module;
  CHECK(levin::Trainer(two_steps(folder)).fit(module, data.loader(4)).global_step == 2);
  CHECK(contains(module.inside, "Nested"));
  CHECK(contains(module.inside, "is in another run, a fit that has not ended"));
  CHECK(contains(module.inside, "a module takes part in one run at a time"));
  CHECK_FALSE(module.in_run());

  levin::Trainer trainer(two_steps(folder)), other(two_steps(folder));
  levin::Session session = trainer.start(module);
  CHECK_THROWS_AS(other.validate(module, data.loader(4)), levin::UsageError);
  CHECK_THROWS_AS(session = other.start(module), levin::UsageError);
  std::string in_thread;
  std::thread([&] { in_thread = error_text<levin::UsageError>([&] { other.fit(module, data.loader(4)); }); }).join();
  CHECK(contains(in_thread, "is in another run"));
  for (int i = 0; i < 2; ++i) session.step(levin::Batch(data.input, data.target));
  CHECK(session.finish().global_step == 2);
  session = other.start(module);  // over one that has ended
  CHECK(module.in_run());
}

TEST_CASE("a copy of a module that is in a run is in none") {
  const TemporaryFolder folder;
  const ToyData data(8);
  ToyModule module;
  levin::Trainer trainer(two_steps(folder)), other(two_steps(folder));
  levin::Session session = trainer.start(module);
  ToyModule copy(module);
  CHECK_FALSE(copy.in_run());
  CHECK(other.fit(copy, data.loader(4)).global_step == 2);
}

TEST_CASE("a run whose module is gone says so") {
  const TemporaryFolder folder;
  const ToyData data(8);
  auto module = std::make_unique<ToyModule>();
  levin::Trainer trainer(two_steps(folder));
  trainer.fit(*module, data.loader(4));
  module.reset();
  const std::string after_fit = error_text<levin::UsageError>([&] { trainer.save_checkpoint(folder / "late.ckpt"); });
  CHECK(contains(after_fit, "Trainer::save_checkpoint: the module of the run is gone"));

  module = std::make_unique<ToyModule>();
  const CapturedStderr captured;
  {
    levin::Session session = trainer.start(*module);
    session.step(levin::Batch(data.input, data.target));
    module.reset();
    CHECK_THROWS_AS(session.step(levin::Batch(data.input, data.target)), levin::UsageError);
    CHECK_THROWS_AS(session.finish(), levin::UsageError);
  }
  CHECK(contains(captured.text(), "its module is gone"));
}

TEST_CASE("a null pointer in place of an optimizer is refused by number") {
  const TemporaryFolder folder;
  const ToyData data(8);
  ToyModule module;
  module.optimizers_of = [](ToyModule&) { return levin::OptimizerConfig(std::shared_ptr<torch::optim::SGD>()); };
  const std::string text =
      error_text<levin::UsageError>([&] { levin::Trainer(two_steps(folder)).fit(module, data.loader(4)); });
  CHECK(contains(text, "configure_optimizers: optimizer 0 is a null pointer"));
}

TEST_CASE("a null pointer in place of a callback is refused") {
  const TemporaryFolder folder;
  ToyModule module;
  levin::TrainerOptions options = two_steps(folder);
  options.callbacks.push_back(std::shared_ptr<levin::EarlyStopping>());
  const std::string text =
      error_text<levin::UsageError>([&] { levin::Trainer(options).fit(module, ToyData(8).loader(4)); });
  CHECK(contains(text, "callbacks[0]: expected a callback, got a null pointer"));
}
