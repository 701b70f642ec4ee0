// Fits that train nothing, or not all, say why.
#include <levin/trainer/loops/training_check.h>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

std::string said_by_fit(const levin::ModuleRef& module, bool validates = false) {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 2;
  const ToyData data(8);
  const CapturedStderr captured;
  levin::Trainer(options).fit(module, data.loader(4),
                              validates ? levin::data::Loaders(data.loader(4)) : levin::data::Loaders());
  return captured.text();
}

struct Manual : ToyModule {
  Manual() { automatic_optimization = false; }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    optimizer().zero_grad();
    const auto loss = loss_of(batch);
    manual_backward(loss);
    if (steps) optimizer().step();
    return loss;
  }
  bool steps = false;
};

torch::optim::SGD sgd_of(std::vector<torch::Tensor> parameters) {
  return torch::optim::SGD(std::move(parameters), torch::optim::SGDOptions(0.1));
}

}  // namespace

TEST_CASE("a fit that trains everything has no warning, and says at its end what it did") {
  ToyModule module;
  const std::string said = said_by_fit(module);
  CHECK_FALSE(contains(said, "warning"));
  CHECK(contains(said, "fit completed: 2 epochs, 4 steps, "));
  Manual manual;
  manual.steps = true;
  CHECK_FALSE(contains(said_by_fit(manual), "warning"));
}

TEST_CASE("an optimizer without parameters is named") {
  ToyModule module;
  module.optimizers_of = [](ToyModule&) { return levin::OptimizerConfig(sgd_of({})); };
  const std::string said = said_by_fit(module);
  CHECK(contains(said, "optimizer 0 has no parameters"));
  CHECK_FALSE(contains(said, "in no optimizer"));  // one warning is enough
}

TEST_CASE("parameters that have gradients and no optimizer are named") {
  ToyModule part, of_another, replaced, other;
  part.optimizers_of = [](ToyModule& module) { return levin::OptimizerConfig(sgd_of(module.net[0]->parameters())); };
  const std::string said = said_by_fit(part);
  CHECK(contains(said, "2 parameters of the module (net.3.weight, ...) have gradients and are in no optimizer"));
  CHECK_FALSE(contains(said, "none of the module's parameters"));
  part.net[3]->as<torch::nn::Linear>()->weight.requires_grad_(false);
  part.net[3]->as<torch::nn::Linear>()->bias.requires_grad_(false);
  CHECK_FALSE(contains(said_by_fit(part), "in no optimizer"));

  of_another.optimizers_of = [&](ToyModule&) { return levin::OptimizerConfig(sgd_of(other.parameters())); };
  CHECK(contains(said_by_fit(of_another), "optimizer 0 has none of the module's parameters"));

  struct Replacing : ToyModule {
    void on_train_start(levin::Run&) override {
      net = replace_module("net", torch::nn::Sequential(torch::nn::Linear(4, 1)));
    }
  } replacing;
  CHECK(contains(said_by_fit(replacing), "a part was replaced after it was made"));
}

TEST_CASE("a fit without a step says so, with the cause") {
  struct Skipping : ToyModule {
    levin::StepOutput training_step(const levin::Batch&, int64_t) override { return torch::Tensor(); }
  } skipping;
  const std::string skipped = said_by_fit(skipping);
  CHECK(contains(skipped, "the fit made no optimizer step in 4 batches: training_step returned no loss"));
  CHECK(contains(skipped, "fit completed: 2 epochs, 0 steps of 4 batches, "));
  Manual manual;
  CHECK(contains(said_by_fit(manual), "under manual optimization training_step must call optimizer(i).step()"));
}

TEST_CASE("a loader to validate with needs a validation_step") {
  ToyModule module;
  CHECK(contains(said_by_fit(module, /*validates=*/true), "the module overrides no validation_step"));
}

TEST_CASE("a fit whose loss was not finite says so at its end") {
  struct Diverging : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override { return loss_of(batch) / 0.0; }
  } module;
  CHECK(contains(said_by_fit(module), "; the loss was NaN or infinite, first in step 1"));
}

TEST_CASE("validation, test and prediction loaders draw with the run's seed") {
  /// Gives each sample a random number of the loader's.
  struct Drawing : levin::data::Dataset {
    int64_t size() const override { return 4; }
    levin::Batch get(int64_t, levin::data::Rng& rng) const override {
      return {torch::full({1}, rng.uniform()), torch::zeros({1})};
    }
  };
  struct Seeing : ToyModule {
    void validation_step(const levin::Batch& batch, int64_t) override { seen.push_back(batch.input()); }
    void test_step(const levin::Batch& batch, int64_t) override { seen.push_back(batch.input()); }
    levin::Batch predict_step(const levin::Batch& batch, int64_t) override {
      seen.push_back(batch.input());
      return batch;
    }
    std::vector<torch::Tensor> seen = {};
  };
  const auto seen = [](int64_t seed, const auto& evaluate) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = quiet(folder);
    options.seed = seed;
    levin::Trainer trainer(options);
    Seeing module;
    evaluate(trainer, module, levin::data::DataLoader(Drawing(), {.batch_size = 2}));
    return copies(module.seen);
  };
  const auto check = [&](const auto& evaluate) {
    CHECK(bit_equal(seen(1, evaluate), seen(1, evaluate)));
    CHECK_FALSE(bit_equal(seen(1, evaluate), seen(2, evaluate)));
  };
  check([](levin::Trainer& trainer, Seeing& module, const levin::data::Loaders& data) {
    trainer.validate(module, data);
  });
  check([](levin::Trainer& trainer, Seeing& module, const levin::data::Loaders& data) { trainer.test(module, data); });
  check(
      [](levin::Trainer& trainer, Seeing& module, const levin::data::Loaders& data) { trainer.predict(module, data); });
}
