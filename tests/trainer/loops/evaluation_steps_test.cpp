// validation_step, test_step and predict_step, and the loader that they run for.
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

struct Evaluated : ToyModule {
  void validation_step(const levin::Batch& batch, int64_t batch_idx) override {
    batches.push_back(batch_idx);
    loaders.push_back(dataloader_idx());
    log("val_loss", loss_of(batch));
  }
  void test_step(const levin::Batch& batch, int64_t batch_idx) override {
    if (batch_idx == 0) loaders.push_back(dataloader_idx());
    log("test_loss", loss_of(batch));
  }
  levin::Batch predict_step(const levin::Batch&, int64_t) override { return {torch::tensor({dataloader_idx()})}; }
  void on_test_start(levin::Run&) override { loaders.clear(); }
  std::vector<int64_t> batches = {}, loaders = {};
};

levin::TrainerOptions one_epoch(const TemporaryFolder& folder) {
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  return options;
}

}  // namespace

TEST_CASE("evaluation steps are called with the batch and its number, and know their loader") {
  const TemporaryFolder folder;
  levin::Trainer trainer(one_epoch(folder));
  const ToyData data(8);
  Evaluated module;
  const auto two = [&] { return levin::data::Loaders{data.loader(4), data.loader(2)}; };

  SECTION("in a fit") {
    trainer.fit(module, data.loader(4), data.loader(4));
    CHECK(module.batches == std::vector<int64_t>{0, 1});
  }
  SECTION("alone, with two loaders") {
    trainer.validate(module, two());
    CHECK(module.batches == std::vector<int64_t>{0, 1, 0, 1, 2, 3});
    CHECK(module.loaders == std::vector<int64_t>{0, 0, 1, 1, 1, 1});
    trainer.test(module, two());
    CHECK(module.loaders == std::vector<int64_t>{0, 1});
  }
  SECTION("predict") {
    const auto predicted = trainer.predict(module, two());
    REQUIRE(predicted.size() == 2);
    REQUIRE(predicted[1].size() == 4);
    CHECK(predicted[0][1].input().item<int64_t>() == 0);
    CHECK(predicted[1][3].input().item<int64_t>() == 1);
  }
  SECTION("through a reference to the base class, whose overrides are not known") {
    levin::LightningModule& base = module;
    trainer.test(base, two());
    CHECK(module.loaders == std::vector<int64_t>{0, 1});
  }
  SECTION("under dp, where replicas run the steps") {
    levin::TrainerOptions options = one_epoch(folder);
    options.strategy = "dp";
    options.devices = 2;
    options.deterministic = true;
    const auto replicated = levin::make_module<Evaluated>();
    const auto predicted = levin::Trainer(options).predict(*replicated, two());
    CHECK(predicted.at(1).at(0).input().sum().item<int64_t>() == 2);
  }
  SECTION("a module without the step has nothing to validate") {
    ToyModule toy;
    CHECK_THROWS_AS(trainer.validate(toy, data.loader(4)), levin::UsageError);
    levin::LightningModule& base = toy;
    CHECK(contains(error_text([&] { trainer.validate(base, data.loader(4)); }),
                   "the module does not override validation_step(batch, batch_idx)"));
  }
}

TEST_CASE("outside a run the loader is the first") {
  CHECK(Evaluated().predict_step(levin::Batch(), 0).input().item<int64_t>() == 0);
}
