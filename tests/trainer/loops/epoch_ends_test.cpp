// The end of an epoch: a batch known to be the last, one not known to be, or a limit that a resumed run has already
// passed; and batches of any content.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/small_modules.h"

namespace {

namespace data = levin::data;

/// A module that validates, counts its calls, and whose rate falls with each epoch.
struct Counting : ToyModule {
  Counting() {
    optimizers_of = [](ToyModule& module) -> levin::OptimizerConfig {
      return {levin::optim::SGD(module.parameters(), {.lr = 0.05, .momentum = 0.9}),
              levin::StepLR({.step_size = 1, .gamma = 0.5})};
    };
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    if (before_step) before_step();
    return ToyModule::training_step(batch, batch_idx);
  }
  void validation_step(const levin::Batch& batch, int64_t) override { log("val_loss", loss_of(batch)); }
  void on_train_batch_end(levin::Run& run) override {
    batches += 1;
    if (run.state().batches_seen == save_at) run.save_checkpoint(save_as);
  }
  void on_validation_end(levin::Run&) override { validations += 1; }
  void on_train_epoch_end(levin::Run& run) override { epoch_ends.push_back(run.state().batch_in_epoch); }

  std::function<void()> before_step = {};
  int64_t batches = 0, validations = 0, save_at = -1;
  std::string save_as = {};
  std::vector<int64_t> epoch_ends = {};
};

struct Trained {
  std::vector<torch::Tensor> weights = {};
  levin::RunResult result = {};
  std::vector<std::string> rows = {};
};

Trained train(Counting& module, const data::Loaders& loader, const levin::TrainerOptions& options,
              const std::string& ckpt_path = "") {
  const ToyData validation(6);
  Trained trained;
  trained.result = levin::Trainer(options).fit(module, loader, validation.loader(3), ckpt_path);
  trained.weights = copies(module.parameters());
  std::ifstream file(trained.result.folder / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto row = nlohmann::ordered_json::parse(line);
    row.erase("wall_seconds");
    trained.rows.push_back(row.dump());
  }
  return trained;
}

std::vector<levin::Batch> batches_of(const ToyData& all, int64_t batch_size) {
  std::vector<levin::Batch> list;
  for (int64_t i = 0; i + batch_size <= all.input.size(0); i += batch_size)
    list.emplace_back(all.input.narrow(0, i, batch_size), all.target.narrow(0, i, batch_size));
  return list;
}

Counting made() {
  torch::manual_seed(3);
  return Counting();
}

}  // namespace

TEST_CASE("a limit that a resumed run has already passed ends its epoch there") {
  const TemporaryFolder folder;
  const ToyData all(40);
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 2;
  options.accumulate_grad_batches = 4;
  Counting first = made();
  first.save_at = 6;
  first.save_as = (folder / "six.ckpt").string();
  train(first, all.loader(4), options);
  REQUIRE(first.epoch_ends == std::vector<int64_t>{10, 10});
  options.limit_train_batches = 4;
  Counting resumed = made();
  const Trained trained = train(resumed, all.loader(4), options, first.save_as);
  CHECK(resumed.epoch_ends == std::vector<int64_t>{6, 4});
  CHECK(resumed.batches == 4);
  CHECK(resumed.validations == 2);
  // The window that the limit cut short made its step, as the end of an epoch does.
  CHECK(trained.result.global_step == 3);
}

TEST_CASE("an epoch of unknown length ends as one of known length") {
  const ToyData all(20);
  const std::vector<levin::Batch> list = batches_of(all, 4);
  for (const int64_t k : {1, 2, 3}) {
    INFO("k " << k);
    const TemporaryFolder folder;
    levin::TrainerOptions options = quiet(folder);
    options.max_epochs = 3;
    options.accumulate_grad_batches = k;
    options.log_every_n_steps = 1;
    Counting known = made();
    const Trained expected = train(known, list, options);

    int64_t given = 0, stepped = 0;
    const auto on_demand = [&] {
      return data::StreamLoader(
          [&](int64_t, int64_t before) {
            return [&, at = static_cast<size_t>(before)]() mutable -> std::optional<levin::Batch> {
              if (at == list.size()) return {};
              ++given;
              return list[at++];
            };
          },
          {.on_demand = true});
    };
    Counting unknown = made();
    unknown.before_step = [&] { CHECK(given == ++stepped); };
    unknown.save_at = 8;
    unknown.save_as = (folder / "eight.ckpt").string();
    const Trained trained = train(unknown, on_demand(), options);
    CHECK(bit_equal(trained.weights, expected.weights));
    CHECK(trained.rows == expected.rows);
    CHECK(unknown.validations == known.validations);
    CHECK(trained.result.global_step == expected.result.global_step);

    given = stepped = 0;
    Counting resumed = made();
    resumed.before_step = unknown.before_step;
    CHECK(bit_equal(train(resumed, on_demand(), options, unknown.save_as).weights, expected.weights));
    CHECK(given == 7);
  }
}

TEST_CASE("a stream may have steps of any content, which weigh 1 unless the step says otherwise") {
  struct Policy : Counting {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      CHECK(batch.empty());
      log("index", static_cast<double>(batch_idx), {.on_step = false, .on_epoch = true});
      const auto loss = net->forward(torch::ones({1, 4})).sum();
      if (weight) return {loss, *weight};
      return loss;
    }
    void validation_step(const levin::Batch&, int64_t batch_idx) override {
      log("val_index", static_cast<double>(batch_idx));
    }
    levin::Batch predict_step(const levin::Batch&, int64_t batch_idx) override {
      return levin::Batch(torch::full({1}, batch_idx));
    }
    std::optional<double> weight = {};
  };
  const auto steps = [](int64_t count) {
    return data::StreamLoader([count](int64_t) {
      return [left = count]() mutable { return left-- > 0 ? std::optional(levin::Batch()) : std::nullopt; };
    });
  };
  std::vector<std::vector<torch::Tensor>> weights;
  for (const std::optional<double> weight : {std::optional<double>(), std::optional<double>(7)}) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = quiet(folder);
    options.max_epochs = 1;
    options.accumulate_grad_batches = 2;
    torch::manual_seed(3);
    Policy module;
    module.weight = weight;
    const auto before = copies(module.parameters());
    levin::Trainer trainer(options);
    const levin::RunResult result = trainer.fit(module, steps(5), steps(3));
    CHECK(result.global_step == 3);
    CHECK_FALSE(bit_equal(copies(module.parameters()), before));
    CHECK(result.metrics.at("index") == 2);
    CHECK(result.metrics.at("val_index") == 1);
    CHECK(trainer.predict(module, steps(3)).at(0).size() == 3);
    weights.push_back(copies(module.parameters()));
  }
  CHECK(bit_equal(weights[0], weights[1]));
}

TEST_CASE("a run with an accumulation schedule resumes to the bit, and counts its steps beforehand") {
  const ToyData all(40);
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 3;
  options.callbacks.emplace_back(levin::GradientAccumulationScheduler({.scheduling = {{0, 4}, {1, 3}}}));
  struct Asking : Counting {
    void on_fit_start(levin::Run& run) override { estimated = *run.estimated_stepping_batches(); }
    int64_t estimated = 0;
  };
  torch::manual_seed(3);
  Asking whole;
  const Trained unbroken = train(whole, all.loader(4), options);
  CHECK(unbroken.result.global_step == 3 + 4 + 4);
  CHECK(whole.estimated == 11);
  for (const int64_t place : {2, 10, 14}) {
    INFO("saved after " << place << " batches");
    Counting first = made();
    first.save_at = place;
    first.save_as = (folder / (std::to_string(place) + ".ckpt")).string();
    train(first, all.loader(4), options);
    Asking resumed;
    const Trained ended = train(resumed, all.loader(4), options, first.save_as);
    CHECK(bit_equal(ended.weights, unbroken.weights));
    CHECK(resumed.estimated == 11);
  }
  options.accumulate_grad_batches = 2;
  Counting both = made();
  CHECK_THROWS_AS(train(both, all.loader(4), options), levin::UsageError);
}
