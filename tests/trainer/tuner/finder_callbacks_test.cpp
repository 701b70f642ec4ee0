// The searches as callbacks: a new fit searches, and a resumed fit keeps the result of its checkpoint.
#include <levin/trainer/tuner/batch_size_finder.h>
#include <levin/trainer/tuner/learning_rate_finder.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/tuner/tuned.h"

namespace {

/// Notes the rate and size of the first batch, and saves a checkpoint after the fifth.
struct Noting : levin::Callback {
  void on_train_batch_start(levin::Run& run) override {
    if (size == 0) size = run.batch().size();
    if (lr == 0) lr = run.optimizers()[0]->param_groups()[0].options().get_lr();
  }
  void on_train_batch_end(levin::Run& run) override {
    if (run.state().batches_seen == 5) run.save_checkpoint("fifth.ckpt");
    if (run.state().batches_seen == 5) file = run.checkpoint_folder() / "fifth.ckpt";
  }
  int64_t size = 0;
  double lr = 0;
  std::filesystem::path file;
};

levin::TrainerOptions with(const TemporaryFolder& folder, std::vector<levin::CallbackEntry> callbacks) {
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 2;
  options.enable_checkpointing = false;
  options.callbacks = std::move(callbacks);
  return options;
}

}  // namespace

TEST_CASE("a fit with LearningRateFinder trains with the rate that lr_find suggests, also when it is resumed") {
  const TemporaryFolder folder;
  const auto new_module = [] {
    torch::manual_seed(11);
    return std::make_shared<Tuned>();
  };
  double expected = 0;
  {
    levin::Trainer trainer(quiet(folder));
    TunedData data;
    const auto module = new_module();  // last, since dropout draws from where its seed leaves the generator
    expected = *levin::lr_find(trainer, module, data, {.num_training = 40, .update_attr = false}).suggestion();
  }
  const levin::LearningRateFinderOptions options{.num_training_steps = 40};
  const auto finder = std::make_shared<levin::LearningRateFinder>(options);
  const auto noting = std::make_shared<Noting>();
  levin::Trainer trainer(with(folder, {finder, noting}));
  TunedData data;
  const auto unbroken = new_module();
  trainer.fit(unbroken, data);
  CHECK(*finder->optimal_lr()->suggestion() == expected);
  CHECK(noting->lr == expected);

  const auto other = std::make_shared<levin::LearningRateFinder>(options);
  const auto noting_again = std::make_shared<Noting>();
  levin::Trainer again(with(folder, {other, noting_again}));
  TunedData same_data;
  const auto resumed = new_module();
  again.fit(resumed, same_data, noting->file.string());
  CHECK_FALSE(other->optimal_lr().has_value());
  CHECK(noting_again->lr == expected);
  CHECK(bit_equal(copies(resumed->parameters()), copies(unbroken->parameters())));

  noting->lr = 0;
  const auto second = new_module();
  trainer.fit(second, data);
  CHECK(noting->lr == expected);
}

TEST_CASE("LearningRateFinder refuses fewer steps than a suggestion needs when it is made") {
  CHECK(contains(error_text<levin::UsageError>([] { levin::LearningRateFinder({.num_training_steps = 12}); }),
                 "LearningRateFinder.num_training_steps"));
  CHECK(error_text<levin::UsageError>([] { levin::LearningRateFinder({.num_training_steps = 13}); }) == "no error");
}

TEST_CASE("a fit with BatchSizeFinder trains with the size that it finds, also when it is resumed") {
  const TemporaryFolder folder;
  const levin::BatchSizeOptions options{.max_val = 16};
  const auto finder = std::make_shared<levin::BatchSizeFinder>(options);
  const auto noting = std::make_shared<Noting>();
  TunedData data(200);
  Tuned module;
  levin::Trainer(with(folder, {finder, noting})).fit(module, data);
  CHECK(finder->optimal_batch_size() == 16);
  CHECK(noting->size == 16);

  const auto other = std::make_shared<levin::BatchSizeFinder>(options);
  const auto noting_again = std::make_shared<Noting>();
  TunedData fresh(200);
  Tuned resumed;
  levin::Trainer(with(folder, {other, noting_again})).fit(resumed, fresh, noting->file.string());
  CHECK(other->optimal_batch_size() == 16);
  CHECK(noting_again->size == 16);
  CHECK(bit_equal(copies(resumed.parameters()), copies(module.parameters())));

  levin::Trainer given(with(folder, {finder}));
  CHECK(contains(error_text<levin::UsageError>([&] { given.fit(module, ToyData(32).loader(4)); }),
                 "BatchSizeFinder: loaders that are made already"));
}
