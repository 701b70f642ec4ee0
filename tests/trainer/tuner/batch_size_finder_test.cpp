#include <levin/trainer/tuner/batch_size_search.h>
#include <levin/trainer/tuner/scale_batch_size.h>
#include <levin/trainer/tuner/tuner.h>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/tuner/tuned.h"

using levin::BatchSizeOptions;
using levin::BatchSizeResult;
using levin::BatchSizeTrial;

namespace {

/// Runs out of memory above a planted size, in training or in validation.
struct Planted : Tuned {
  explicit Planted(int64_t largest_size, bool in_validation = false)
      : largest(largest_size), validates(in_validation) {}
  levin::StepOutput training_step(const levin::Batch& batch, int64_t i) override {
    if (!validates) check(batch);
    return Tuned::training_step(batch, i);
  }
  void validation_step(const levin::Batch& batch, int64_t i) override {
    if (validates) check(batch);
    Tuned::validation_step(batch, i);
  }
  void check(const levin::Batch& batch) const {
    TORCH_CHECK_WITH(OutOfMemoryError, batch.size() <= largest, "planted: out of memory");
  }
  int64_t largest;
  bool validates;
};

std::vector<int64_t> sizes(const BatchSizeResult& result) {
  std::vector<int64_t> all;
  for (const BatchSizeTrial& trial : result.trials) all.push_back(trial.batch_size);
  return all;
}

}  // namespace

TEST_CASE("power doubles until memory runs out, and takes the last size that fitted") {
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  Planted module(37);
  TunedData data(2000);
  const BatchSizeResult result = levin::scale_batch_size(trainer, module, data);
  CHECK(sizes(result) == std::vector<int64_t>{2, 4, 8, 16, 32, 64});
  CHECK(result.batch_size == 32);
  CHECK(data.size == 32);
  CHECK(result.batch_size_before == 8);
  CHECK(contains(result.trials.back().reason, "planted: out of memory"));
}

TEST_CASE("power halves while nothing has fitted") {
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  Planted module(5);
  TunedData data(2000);
  const BatchSizeResult result = levin::scale_batch_size(trainer, module, data, {.init_val = 64});
  CHECK(sizes(result) == std::vector<int64_t>{64, 32, 16, 8, 4});
  CHECK(result.batch_size == 4);
}

TEST_CASE("binsearch bisects after the first failure, and keeps a margin") {
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  Planted module(87);
  TunedData data(2000);
  BatchSizeResult result = levin::scale_batch_size(trainer, module, data, {.mode = "binsearch", .margin = 0});
  CHECK(result.batch_size == 87);
  CHECK(sizes(result) == std::vector<int64_t>{2, 4, 8, 16, 32, 64, 128, 96, 80, 88, 84, 86, 87});
  result = levin::scale_batch_size(trainer, module, data, {.mode = "binsearch"});
  CHECK(result.batch_size == 82);
  CHECK(data.size == 82);
}

TEST_CASE("the search ends before an epoch would have fewer than min_batches batches") {
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  Tuned module;
  TunedData data(100);
  {
    const CapturedStderr captured;
    CHECK(levin::scale_batch_size(trainer, module, data).batch_size == 8);
    CHECK(contains(captured.text(), "a larger one would leave fewer than 10 batches in an epoch"));
  }
  CHECK(levin::scale_batch_size(trainer, module, data, {.min_batches = 13}).batch_size == 8);
  CHECK(levin::scale_batch_size(trainer, module, data, {.mode = "binsearch", .min_batches = 14}).batch_size == 4);
  // The first size counts if even that one leaves fewer.
  CHECK(levin::scale_batch_size(trainer, module, data, {.init_val = 32}).batch_size == 32);
}

TEST_CASE("the search ends at the data's end, at max_val and after max_trials") {
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  Tuned module;
  TunedData data(100);
  {
    const CapturedStderr captured;
    CHECK(levin::scale_batch_size(trainer, module, data, {.min_batches = 1}).batch_size == 100);
    CHECK(contains(captured.text(), "the whole training set, 100 samples, fits into one batch"));
  }
  CHECK(levin::scale_batch_size(trainer, module, data, {.mode = "binsearch", .min_batches = 1}).batch_size == 100);
  data.drop_last = true;
  CHECK(levin::scale_batch_size(trainer, module, data, {.min_batches = 1}).batch_size == 64);
  const CapturedStderr captured;
  CHECK(levin::scale_batch_size(trainer, module, data, {.max_val = 24, .min_batches = 1}).batch_size == 24);
  CHECK_FALSE(contains(captured.text(), "the whole training set"));
  CHECK(levin::scale_batch_size(trainer, module, data, {.max_trials = 3}).batch_size == 8);
}

TEST_CASE("validation must fit as well") {
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  Planted module(20, /*in_validation=*/true);
  TunedData data(2000);
  CHECK(levin::scale_batch_size(trainer, module, data).batch_size == 16);
}

TEST_CASE("a fit after the search ends as one without, to the bit") {
  const TemporaryFolder folder;
  const auto run = [&](bool find) {
    torch::manual_seed(12);
    Planted module(40);
    TunedData data(64);
    auto options = quiet(folder);
    options.max_epochs = 2;
    levin::Trainer trainer(options);
    if (find) {
      CHECK(levin::scale_batch_size(trainer, module, data, {.min_batches = 1}).batch_size == 32);
      CHECK(module.batches_seen == 0);
      CHECK(module.is_training());
      data.set_batch_size(8);
    }
    const levin::RunResult result = trainer.fit(module, data);
    auto end = state_tensors(module);
    end.push_back(torch::tensor({metric(result, "mean"), metric(result, "registered")}, torch::kDouble));
    end.push_back(torch::rand({3}));
    return end;
  };
  CHECK(bit_equal(run(false), run(true)));
}

TEST_CASE("tune searches the batch size first, then the rate, as the options ask") {
  const TemporaryFolder folder;
  Planted module(40);
  TunedData data(64);
  auto options = quiet(folder);
  options.max_epochs = 1;
  options.auto_scale_batch_size = "power";
  SECTION("range test") {
    options.auto_lr_find = true;
    levin::Trainer trainer(options);
    CHECK(contains(error_text<levin::UsageError>([&] { trainer.fit(module, data); }),
                   "trainer.auto_scale_batch_size: fit itself looks for no batch size; call levin::tune"));
    const levin::TuneResult found = levin::tune(trainer, module, data, {.batch_size = {.min_batches = 1}});
    CHECK(found.batch_size->batch_size == 32);
    CHECK(found.lr_find->suggestion().has_value());
    CHECK(trainer.fit(module, data).global_step == 2);
  }
  SECTION("a rule") {
    options.scale_lr = "sqrt";
    double lr = 0;
    options.callbacks.push_back(levin::LambdaCallback({.on_train_start = [&](levin::Run& run) {
      lr = run.optimizers().front()->param_groups().front().options().get_lr();
    }}));
    levin::Trainer trainer(options);
    CHECK(levin::tune(trainer, module, data, {.batch_size = {.min_batches = 1}}).lr_factor == 2);
    trainer.fit(module, data);
    CHECK(lr == 0.1);
  }
}

TEST_CASE("out of memory at batch size 1 says so, and the size before is put back") {
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  Planted module(0);
  TunedData data(64);
  const std::string text =
      error_text<levin::UsageError>([&] { levin::scale_batch_size(trainer, module, data, {.init_val = 4}); });
  CHECK(contains(text, "out of memory at batch size 1 (planted: out of memory"));
  CHECK(contains(text, "use a smaller model"));
  CHECK(data.size == 8);
  CHECK(contains(error_text<levin::UsageError>(
                     [&] { levin::scale_batch_size(trainer, module, data, {.init_val = 64, .max_trials = 2}); }),
                 "none of 2 batch sizes down to 32 fits"));
}

TEST_CASE("data that cannot change their batch size are refused") {
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  struct Fixed : levin::data::DataModule {
    levin::data::Loaders train_dataloader() override { return ToyData(64).loader(size); }
    int64_t size = 8;
  } fixed;
  Tuned module;
  CHECK(contains(error_text<levin::UsageError>([&] { levin::scale_batch_size(trainer, module, fixed); }),
                 "the data module cannot change the batch size; override batch_size() and set_batch_size()"));
  CHECK(contains(error_text<levin::UsageError>([&] { levin::scale_batch_size(trainer, module); }),
                 "the module's own loaders cannot change the batch size; give BatchSizeOptions::set_batch_size"));
  CHECK(contains(error_text<levin::UsageError>([&] { fixed.set_batch_size(3); }), "cannot change its batch size"));
  const BatchSizeResult result = levin::scale_batch_size(
      trainer, module, fixed, {.min_batches = 1, .set_batch_size = [&](int64_t size) { fixed.size = size; }});
  CHECK(result.batch_size == 64);
  CHECK(fixed.size == 64);
}

TEST_CASE("an error other than out of memory is thrown on") {
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  struct Broken : Tuned {
    levin::StepOutput training_step(const levin::Batch&, int64_t) override {
      throw std::runtime_error("the step failed");
    }
  } module;
  TunedData data(64);
  CHECK_THROWS_WITH(levin::scale_batch_size(trainer, module, data), "the step failed");
  CHECK(data.size == 8);
}
