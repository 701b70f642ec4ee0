// validation_step, test_step and predict_step with and without the loader's index.
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

struct WithoutLoader : ToyModule {
  void validation_step(const levin::Batch& batch, int64_t batch_idx) override {
    batches.push_back(batch_idx);
    log("val_loss", loss_of(batch));
  }
  void test_step(const levin::Batch& batch, int64_t) override { log("test_loss", loss_of(batch)); }
  levin::Batch predict_step(const levin::Batch& batch, int64_t) override { return {net->forward(batch.input())}; }
  std::vector<int64_t> batches = {};
};

struct WithLoader : ToyModule {
  void validation_step(const levin::Batch& batch, int64_t, int64_t) override { log("val_loss", loss_of(batch)); }
  void test_step(const levin::Batch& batch, int64_t, int64_t) override { log("test_loss", loss_of(batch)); }
  levin::Batch predict_step(const levin::Batch& batch, int64_t, int64_t) override {
    return {net->forward(batch.input())};
  }
};

/// Classes that override a form which their base class does not.
struct LoaderDropped : WithLoader {
  void validation_step(const levin::Batch&, int64_t) override {}
  void test_step(const levin::Batch&, int64_t) override { throw std::runtime_error("not this one"); }
};
struct LoaderAdded : WithoutLoader {
  levin::Batch predict_step(const levin::Batch& batch, int64_t, int64_t) override { return batch; }
};

levin::TrainerOptions one_epoch(const TemporaryFolder& folder) {
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  return options;
}

}  // namespace

TEST_CASE("steps without the loader's index are called as those with it are") {
  const TemporaryFolder folder;
  levin::Trainer trainer(one_epoch(folder));
  const ToyData data(8);
  torch::manual_seed(1);
  WithoutLoader module;
  torch::manual_seed(1);
  WithLoader reference;
  const auto two = [&] { return levin::data::Loaders{data.loader(4), data.loader(2)}; };

  SECTION("in a fit") {
    trainer.fit(module, data.loader(4), data.loader(4));
    CHECK(module.batches == std::vector<int64_t>{0, 1});
  }
  SECTION("alone, with one loader and with two") {
    CHECK(trainer.validate(module, data.loader(4)) == trainer.validate(reference, data.loader(4)));
    CHECK(module.batches == std::vector<int64_t>{0, 1});
    CHECK(trainer.test(module, two()) == trainer.test(reference, two()));
  }
  SECTION("predict") {
    const auto predicted = trainer.predict(module, data.loader(4)),
               expected = trainer.predict(reference, data.loader(4));
    REQUIRE(predicted.at(0).size() == 2);
    CHECK(torch::equal(predicted[0][1].input(), expected.at(0).at(1).input()));
  }
  SECTION("through a reference to the base class, whose overrides are not known") {
    levin::LightningModule& base = module;
    CHECK(trainer.test(base, data.loader(4)) == trainer.test(reference, data.loader(4)));
    CHECK(base.predict_step(levin::Batch(data.input), 0, 0).size() == 8);
  }
  SECTION("a module without the step has nothing to validate") {
    ToyModule toy;
    CHECK_THROWS_AS(trainer.validate(toy, data.loader(4)), levin::UsageError);
    levin::LightningModule& base = toy;
    CHECK(contains(error_text([&] { trainer.validate(base, data.loader(4)); }),
                   "the module does not override validation_step(batch, batch_idx)"));
  }
}

TEST_CASE("a module that overrides both forms of a step, one of them in a base class, is refused") {
  const TemporaryFolder folder;
  levin::Trainer trainer(one_epoch(folder));
  const ToyData data(8);
  LoaderDropped dropped;
  LoaderAdded added;
  const std::string both = "the module overrides both forms of ";
  CHECK(contains(error_text<levin::UsageError>([&] { trainer.validate(dropped, data.loader(4)); }),
                 both + "validation_step, in its class or in a base class"));
  CHECK(contains(error_text<levin::UsageError>([&] { trainer.test(dropped, data.loader(4)); }), both + "test_step"));
  CHECK(
      contains(error_text<levin::UsageError>([&] { trainer.predict(added, data.loader(4)); }), both + "predict_step"));
  CHECK_NOTHROW(trainer.predict(dropped, data.loader(4)));
  CHECK_NOTHROW(trainer.validate(added, data.loader(4)));
}
