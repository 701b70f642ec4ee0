// Modules whose parameters change size are resumed: on_load_checkpoint is called before the shapes are compared and
// before the optimizers are made.
#include <levin/levin.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

namespace {

enum class Resizing { None, Replaces, SetsData };

/// A table with a row for each word that was known when it was made.
struct Table : levin::LightningModule {
  Table(int64_t rows, Resizing resizing_)
      : resizing(resizing_), table(register_module("table", torch::nn::Embedding(rows, 4))) {}

  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return table->forward(batch.input()).square().sum();
  }
  void validation_step(const levin::Batch& batch, int64_t) override { log("sum", table->forward(batch.input()).sum()); }
  levin::OptimizerConfig configure_optimizers() override {
    ++configured;
    return {levin::optim::Adam(parameters(), {.lr = 0.1}), levin::StepLR({.step_size = 1})};
  }
  void on_load_checkpoint(levin::Run& run, const levin::State& checkpoint) override {
    const at::Tensor saved = checkpoint.at("state_dict").at("table.weight").to_tensor();
    if (resizing == Resizing::Replaces)
      table = replace_module("table", torch::nn::Embedding(saved.size(0), saved.size(1)));
    if (resizing == Resizing::SetsData) table->weight.set_data(torch::zeros_like(saved));
    if (asks_for_optimizers) optimizers_seen = run.optimizers().size();
  }

  Resizing resizing;
  torch::nn::Embedding table;
  bool asks_for_optimizers = false;
  int configured = 0;
  size_t optimizers_seen = 0;
};

std::vector<levin::Batch> words() {
  return {levin::Batch(torch::tensor({0, 3, 6})), levin::Batch(torch::tensor({5, 1, 0})),
          levin::Batch(torch::tensor({2, 4, 6}))};
}

levin::TrainerOptions quiet(const TemporaryFolder& folder, int64_t epochs) {
  levin::TrainerOptions options;
  options.default_root_dir = folder.path().string();
  options.max_epochs = epochs;
  options.enable_progress_bar = options.enable_model_summary = false;
  options.accelerator = "cpu";
  return options;
}

/// A checkpoint of a table with seven rows after one epoch, and its weights after two.
struct Saved {
  Saved() {
    torch::manual_seed(1);
    Table table(7, Resizing::None);
    levin::Trainer(quiet(folder, 1)).fit(table, words());
    after_one = table.table->weight.detach().clone();
    file = (folder / "levin_logs/version_0/checkpoints/last.ckpt").string();
    Table further(7, Resizing::None);
    levin::Trainer(quiet(folder, 2)).fit(further, words(), {}, file);
    after_two = further.table->weight.detach().clone();
  }
  TemporaryFolder folder;
  std::string file;
  at::Tensor after_one, after_two;
};

}  // namespace

TEST_CASE("a module takes the sizes of a checkpoint in on_load_checkpoint, and its optimizer trains them") {
  const Saved saved;
  for (const Resizing resizing : {Resizing::Replaces, Resizing::SetsData}) {
    Table table(3, resizing);
    levin::Trainer(quiet(saved.folder, 2)).fit(table, words(), {}, saved.file);
    REQUIRE(table.table->weight.size(0) == 7);
    CHECK(torch::equal(table.table->weight, saved.after_two));
    CHECK(table.configured == 1);
  }
}

TEST_CASE("evaluation calls on_load_checkpoint before it takes the weights") {
  const Saved saved;
  for (const Resizing resizing : {Resizing::Replaces, Resizing::SetsData}) {
    Table table(3, resizing);
    levin::Trainer(quiet(saved.folder, 1)).validate(table, words(), saved.file);
    CHECK(torch::equal(table.table->weight, saved.after_one));
  }
}

TEST_CASE("the parameters that a module makes in on_load_checkpoint get the run's precision") {
  const Saved saved;
  Table table(3, Resizing::Replaces);
  levin::TrainerOptions options = quiet(saved.folder, 2);
  options.precision = "64-true";
  levin::Trainer(options).fit(table, words(), {}, saved.file);
  CHECK(table.table->weight.scalar_type() == at::kDouble);
  CHECK(torch::allclose(table.table->weight.to(at::kFloat), saved.after_two));
}

TEST_CASE("a hook that asks for the optimizers in on_load_checkpoint has them, made once") {
  const Saved saved;
  Table table(7, Resizing::None);
  table.asks_for_optimizers = true;
  levin::Trainer(quiet(saved.folder, 2)).fit(table, words(), {}, saved.file);
  CHECK(table.optimizers_seen == 1);
  CHECK(table.configured == 1);
  CHECK(torch::equal(table.table->weight, saved.after_two));
}

TEST_CASE("sizes that no hook adapts are refused with the parameter's name") {
  const Saved saved;
  Table table(3, Resizing::None);
  const std::string text = error_text<levin::UsageError>(
      [&] { levin::Trainer(quiet(saved.folder, 2)).fit(table, words(), {}, saved.file); });
  CHECK(contains(text, "last.ckpt"));
  CHECK(contains(text, "table.weight"));
  CHECK(contains(text, "[7, 4]"));
}
