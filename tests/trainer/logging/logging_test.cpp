// The names, means and rows of logged values, and when they are read.
#include <levin/trainer/logging/metric_sink.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

std::vector<nlohmann::json> rows_of(const std::filesystem::path& run_folder) {
  std::ifstream file(run_folder / "metrics.jsonl");
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(file, line);) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

/// Logs batch numbers in several ways.
struct Counting : ToyModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    const auto number = static_cast<double>(batch_idx);
    log("step_only", number);
    log("both", torch::tensor(number), {.on_epoch = true});
    log("sum", number, {.on_step = false, .on_epoch = true, .reduce_fx = levin::ReduceFx::Sum});
    log("min", number, {.on_step = false, .on_epoch = true, .reduce_fx = levin::ReduceFx::Min});
    log("max", number, {.on_step = false, .on_epoch = true, .reduce_fx = levin::ReduceFx::Max});
    log("hidden", number, {.prog_bar = true, .logger = false});
    return loss_of(batch);
  }
  void validation_step(const levin::Batch& batch, int64_t batch_idx) override {
    log("val_mean", static_cast<double>(batch_idx));
    log("val_samples", static_cast<double>(batch.size()), {.reduce_fx = levin::ReduceFx::Sum});
  }
  void on_train_epoch_end(levin::Run& run) override {
    log("from_hook", 7.0);
    val_mean_seen = run.metric("val_mean");
  }
  std::optional<double> val_mean_seen;
};

}  // namespace

TEST_CASE("rows hold step and epoch values under PyTorch Lightning's names") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.log_every_n_steps = 2;
  Counting module;
  // 10 samples in batches of 4: 4 + 4 + 2; validation 5 samples in batches of 3: 3 + 2.
  const auto result = levin::Trainer(options).fit(module, ToyData(10).loader(4), ToyData(5).loader(3));
  const auto rows = rows_of(result.folder);
  REQUIRE(rows.size() == 3);

  CHECK(rows[0].at("step") == 2);
  CHECK(rows[0].at("epoch") == 0);
  CHECK(rows[0].at("step_only") == 1.0);
  CHECK(rows[0].at("both_step") == 1.0);
  CHECK_FALSE(rows[0].contains("hidden"));
  CHECK_FALSE(rows[0].contains("sum"));

  CHECK(rows[1].at("step") == 3);
  CHECK(rows[1].at("val_mean").get<double>() == Approx(2.0 / 5));  // 0 * 3 samples, 1 * 2 samples
  CHECK(rows[1].at("val_samples") == 5.0);

  CHECK(rows[2].at("both_epoch").get<double>() == Approx((0 * 4 + 1 * 4 + 2 * 2) / 10.0));
  CHECK(rows[2].at("sum") == 3.0);
  CHECK(rows[2].at("min") == 0.0);
  CHECK(rows[2].at("max") == 2.0);
  CHECK(rows[2].at("from_hook") == 7.0);

  CHECK(result.metrics.at("val_mean") == Approx(0.4));
  CHECK(result.metrics.at("both") == Approx(0.8));
  CHECK(result.metrics.at("hidden") == 2.0);  // newer than the last log point
  CHECK(module.val_mean_seen == Approx(0.4));
}

TEST_CASE("the run folder holds what it should") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.name = "toy";
  ToyModule module;
  const auto result = levin::Trainer(options).fit(module, ToyData(40).loader(4));
  CHECK(result.folder == folder / "toy/version_0");
  nlohmann::json config, summary;
  std::ifstream(result.folder / "config.json") >> config;
  CHECK(config.at("trainer").at("max_epochs") == 1);
  std::ifstream(result.folder / "summary.json") >> summary;
  CHECK(summary.at("status") == "completed");
  CHECK(summary.at("global_step") == 10);
  const levin::State weights = levin::load_state(result.folder / "weights.pt");
  CHECK(torch::equal(weights.at("net.0.weight").to_tensor(), module.named_parameters()["net.0.weight"]));
  CHECK(levin::Trainer(options).fit(module, ToyData(40).loader(4)).folder == folder / "toy/version_1");
}

TEST_CASE("evaluation counts every sample once and names several loaders") {
  struct Evaluating : ToyModule {
    void validation_step(const levin::Batch& batch, int64_t) override {
      CHECK_FALSE(is_training());
      CHECK_FALSE(torch::GradMode::is_enabled());
      log("loss", loss_of(batch));
      log("index", static_cast<double>(dataloader_idx()), {.add_dataloader_idx = true});
    }
    void test_step(const levin::Batch& batch, int64_t) override { log("test_loss", loss_of(batch)); }
    levin::Batch predict_step(const levin::Batch& batch, int64_t) override { return net->forward(batch.input()); }
  };
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  const ToyData data(7);
  Evaluating module;
  module.train();
  const auto expected = [&] {
    const torch::NoGradGuard no_grad;
    return torch::mse_loss(module.net->forward(data.input), data.target).item<double>();
  }();

  const auto one = trainer.validate(module, data.loader(3));
  REQUIRE(one.size() == 1);
  CHECK(one[0].at("loss") == Approx(expected).epsilon(1e-6));
  const auto two = trainer.validate(module, {data.loader(3), data.loader(2)});
  REQUIRE(two.size() == 2);
  CHECK(two[1].at("loss/dataloader_idx_1") == Approx(expected).epsilon(1e-6));
  CHECK(two[1].at("index/dataloader_idx_1") == 1.0);
  CHECK(trainer.test(module, data.loader(4)).at(0).at("test_loss") == Approx(expected).epsilon(1e-6));
  CHECK(module.is_training());

  const auto predictions = trainer.predict(module, data.loader(3));
  REQUIRE(predictions.size() == 1);
  REQUIRE(predictions[0].size() == 3);
  CHECK(predictions[0][2].size() == 1);
}

TEST_CASE("log refuses what it cannot reduce") {
  struct Bad : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if (kind == 0) log("vector", torch::ones({3}));
      if (kind == 1) log("undefined", torch::Tensor());
      if (kind == 2) log("twice", 1.0, {.on_epoch = batch_idx > 0});
      return loss_of(batch);
    }
    int kind = 0;
  };
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  Bad module;
  const auto text = [&](int kind) {
    module.kind = kind;
    return error_text<levin::UsageError>([&] { trainer.fit(module, ToyData(40).loader(4)); });
  };
  CHECK(text(0) == "log('vector'): expected one element, got shape [3]; log its mean() or sum()");
  CHECK(text(1) == "log('undefined'): the tensor is undefined");
  CHECK(contains(text(2), "log('twice') was called before with other on_step, on_epoch or reduce_fx"));
}

TEST_CASE("the accumulators of log save and load their state") {
  levin::MetricSink sink;
  sink.use_train_table();
  sink.log("x", 1.0, {.on_epoch = true, .batch_size = 3});
  levin::MetricSink restored;
  restored.load_state_dict(sink.state_dict());
  restored.log("x", 5.0, {.on_epoch = true, .batch_size = 1});
  CHECK(restored.read_train_epoch().at("x") == Approx(2.0));
}

TEST_CASE("modes of submodules survive validation") {
  struct Frozen : ToyModule {
    void validation_step(const levin::Batch& batch, int64_t) override { log("loss", loss_of(batch)); }
  };
  const TemporaryFolder folder;
  levin::Trainer trainer(quiet(folder));
  Frozen module;
  module.net->ptr(2)->eval();
  trainer.validate(module, ToyData(4).loader(2));
  CHECK(module.is_training());
  CHECK(module.net->ptr(1)->is_training());
  CHECK_FALSE(module.net->ptr(2)->is_training());
}

TEST_CASE("the bar has a CPU value from the first step on, before any log point") {
  levin::MetricSink sink;
  sink.use_train_table();
  const levin::Batch batch(torch::zeros({2, 1}), torch::zeros({2}));
  sink.enter_batch(batch, /*number=*/0, /*on_step_by_default=*/true);
  sink.log("loss", 0.5, {.prog_bar = true});
  sink.log("both", torch::tensor(2.0), {.prog_bar = true, .on_epoch = true});
  sink.log("other", 3.0, {});
  CHECK(sink.progress_bar() == levin::Metrics{{"loss", 0.5}, {"both_step", 2.0}});
  sink.log("loss", 0.25, {.prog_bar = true});
  CHECK(sink.progress_bar().at("loss") == 0.25);
  CHECK(sink.read_step().at("loss") == 0.25);
}

TEST_CASE("a weight that training_step returns counts in the epoch means of what the step logs") {
  // Tokens of each batch: 3, 1 and 0.5; the values that are logged are 2, 8 and 4.
  struct Tokens : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      const auto i = static_cast<size_t>(batch_idx);
      log("number", values[i], {.on_step = false, .on_epoch = true});
      log("twice", values[i], {.on_step = false, .on_epoch = true});
      log("twice", 0.0, {.on_step = false, .on_epoch = true});
      log("own", values[i], {.on_step = false, .on_epoch = true, .batch_size = 1});
      log("sum", values[i], {.on_step = false, .on_epoch = true, .reduce_fx = levin::ReduceFx::Sum});
      return {loss_of(batch), weights[i]};
    }
    void on_train_batch_end(levin::Run& run) override {
      log("hook", values[static_cast<size_t>(run.batch_idx())], {.on_step = false, .on_epoch = true});
    }
    std::vector<double> values = {2, 8, 4}, weights = {3, 1, 0.5};
  };
  const double mean = (2 * 3 + 8 * 1 + 4 * 0.5) / 4.5;
  const ToyData data(12);
  const auto metrics_of = [&](const levin::ModuleRef& module, const std::string& devices) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = quiet(folder);
    options.max_epochs = 1;
    options.accelerator = "cpu";
    if (!devices.empty()) {
      options.strategy = "dp";
      options.devices = 2;
    }
    return levin::Trainer(options).fit(module, data.loader(4)).metrics;
  };
  Tokens module;
  const levin::Metrics metrics = metrics_of(module, "");
  CHECK(metrics.at("number") == Approx(mean).epsilon(1e-14));
  CHECK(metrics.at("hook") == Approx(mean).epsilon(1e-14));
  CHECK(metrics.at("twice") == Approx(mean / 2).epsilon(1e-14));
  CHECK(metrics.at("own") == Approx(14.0 / 3).epsilon(1e-14));
  CHECK(metrics.at("sum") == 14);
  // Each of two replicas returns the weight, and means are the same.
  const auto replicated = levin::make_module<Tokens>();
  CHECK(metrics_of(replicated, "2").at("number") == Approx(mean).epsilon(1e-14));
}
