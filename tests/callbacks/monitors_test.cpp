// Callbacks that measure, end runs or write files.
#include <levin/core/state/state_file.h>
#include <levin/data/files/image_file.h>

#include <nlohmann/json.hpp>

#include "tests/callbacks/backbone_net.h"
#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"

namespace {

levin::RunResult fit_quietly(levin::LightningModule& module, std::vector<levin::CallbackEntry> callbacks,
                             const ToyData& data, const std::function<void(levin::TrainerOptions&)>& change = {}) {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.log_every_n_steps = 1;
  options.enable_checkpointing = false;
  options.callbacks = std::move(callbacks);
  if (change) change(options);
  return levin::Trainer(options).fit(levin::ModuleRef(&module), data.loader(4));
}

/// A module whose loss in each batch is given.
struct GivenLosses : ToyModule {
  explicit GivenLosses(std::vector<double> losses_) : losses(std::move(losses_)) {}
  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    return loss_of(batch) * 0 + losses.at(static_cast<size_t>(batch_idx));
  }
  std::vector<double> losses;
};

/// Returns the batch in which SpikeDetection ends the run; -1 if it does not.
int64_t spike_in(std::vector<double> losses, levin::SpikeDetectionOptions options) {
  const CapturedStderr captured;
  const ToyData data(4 * static_cast<int64_t>(losses.size()));
  GivenLosses module(std::move(losses));
  try {
    fit_quietly(module, {levin::SpikeDetection(options)}, data);
  } catch (const levin::TrainingSpikeException& spike) {
    return spike.batch_idx;
  }
  return -1;
}

}  // namespace

TEST_CASE("gradient norms are those of the gradients, per parameter on request") {
  ToyModule module;
  struct Norms : levin::Callback {
    void on_before_optimizer_step(levin::Run& run, torch::optim::Optimizer&) override {
      double sum = 0;
      for (const auto& item : run.module().named_parameters()) {
        const double norm = item.value().grad().norm().item<double>();
        of[item.key()] = norm;
        sum += norm * norm;
      }
      total = std::sqrt(sum);
    }
    std::map<std::string, double> of;
    double total = 0;
  };
  const auto norms = std::make_shared<Norms>();
  SECTION("in all") {
    const auto metrics = fit_quietly(module, {levin::GradNormMonitor(), norms}, ToyData(12)).metrics;
    CHECK(metrics.at("grad_2.0_norm_total") == Approx(norms->total));
    CHECK(metrics.count("grad_2.0_norm/net.0.weight") == 0);
  }
  SECTION("per parameter") {
    const levin::GradNormMonitor monitor({.per_layer = true});
    const auto metrics = fit_quietly(module, {monitor, norms}, ToyData(12), [](auto& o) {
                           o.accumulate_grad_batches = 3;
                           o.gradient_clip_val = 1e-3;
                         }).metrics;
    CHECK(metrics.at("grad_2.0_norm_total") == Approx(norms->total));
    for (const auto& [name, norm] : norms->of) CHECK(metrics.at("grad_2.0_norm/" + name) == Approx(norm));
  }
  SECTION("of float32 copies of the weights") {
    const auto metrics = fit_quietly(module, {levin::GradNormMonitor({.per_layer = true})}, ToyData(12), [](auto& o) {
                           o.precision = 16;
                           o.amp_level = "O2";
                         }).metrics;
    for (const std::string& name : module.named_parameters().keys()) CHECK(metrics.count("grad_2.0_norm/" + name) == 1);
    CHECK(metrics.count("grad_2.0_norm/") == 0);
  }
  SECTION("the largest") {
    const levin::GradNormMonitor monitor({.norm_type = std::numeric_limits<double>::infinity()});
    CHECK(fit_quietly(module, {monitor}, ToyData(12)).metrics.count("grad_inf_norm_total") == 1);
  }
  CHECK(contains(error_text<levin::UsageError>([] { levin::GradNormMonitor({.norm_type = 0}); }), "norm_type"));
}

TEST_CASE("operations are counted forward and backward") {
  struct Recorder : levin::Callback {
    void on_train_batch_end(levin::Run& run) override { metrics = run.metrics(); }
    levin::Metrics metrics;
  };
  ToyModule module;
  const auto monitor = std::make_shared<levin::ThroughputMonitor>(
      levin::ThroughputMonitorOptions{.window_size = 3, .items_of = "input", .available_flops = 1e6});
  const auto metrics = fit_quietly(module, {monitor}, ToyData(40)).metrics;
  // Of a sample: 2 * 4 * 8 and 2 * 8 * 1 forward, as much for the weights' gradients, and the last layer's input's.
  CHECK(monitor->flops_per_sample() == 2 * (64 + 16) + 16);
  CHECK(metrics.at("train/batches") == 10);
  CHECK(metrics.at("train/samples") == 40);
  CHECK(metrics.at("train/lengths") == 160);
  const double samples = metrics.at("train/device/samples_per_sec");
  CHECK(samples == Approx(4 * metrics.at("train/device/batches_per_sec")));
  CHECK(metrics.at("train/device/items_per_sec") == Approx(4 * samples));
  CHECK(metrics.at("train/device/flops_per_sec") == Approx(monitor->flops_per_sample() * samples));
  CHECK(metrics.at("train/device/mfu") == Approx(metrics.at("train/device/flops_per_sec") / 1e6));
  CHECK(metrics.count("train/samples_per_sec") == 0);

  const auto measuring = std::make_shared<levin::ThroughputMonitor>();
  fit_quietly(module, {measuring}, ToyData(8));
  CHECK(measuring->available_flops().value_or(0) > 1e6);
}

TEST_CASE("a spike is a loss far above the running mean, and the batches are written") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(spike_in({1, 1.1, 0.9, 1, 5, 1}, {}) == 4);
  CHECK(spike_in({1, 1.1, 0.9, 1, 2.9, 1}, {}) == -1);
  CHECK(spike_in({9, 1, 1, 1}, {}) == -1);
  CHECK(spike_in({1, 1, 1, 1.4}, {.atol = 0.3, .rtol = 0.2}) == 3);
  CHECK(spike_in({1, 1, 1, 1.4}, {.atol = 0.5, .rtol = 0.2}) == -1);
  CHECK(spike_in({1, 1, nan, 1}, {}) == 2);
  CHECK(spike_in({1, 1, nan, 1}, {.finite_only = false}) == -1);
  CHECK(spike_in({5, 5, 5, 0.1}, {.mode = "max", .rtol = 0.9}) == 3);
  CHECK(spike_in({1, 1, 9, 99}, {.warmup = 3}) == 3);
  CHECK(spike_in({1, 1, 1, 10}, {.window = 1, .rtol = 9.5}) == -1);

  const TemporaryFolder folder;
  CHECK(spike_in({1, 1, 7, 1}, {.exclude_batches_path = folder.path().string()}) == 2);
  CHECK(levin::Json::parse(read_bytes(folder / "skip_batches.json")) == levin::Json({1, 2}));
}

TEST_CASE("spike detection continues from its state") {
  const auto callback = std::make_shared<levin::SpikeDetection>();
  GivenLosses module({1, 2, 3});
  fit_quietly(module, {callback}, ToyData(12), [](auto& o) { o.max_epochs = 1; });
  levin::SpikeDetection other;
  other.load_state_dict(callback->state_dict());
  const levin::State state = other.state_dict();
  CHECK(state.at("last_val").to_double() == Approx(3));
  CHECK(state.at("running").size() == 3);
}

TEST_CASE("predictions are written by batch and at the end") {
  struct Predicting : ToyModule {
    levin::Batch predict_step(const levin::Batch& batch, int64_t batch_idx) override {
      const auto output = net->forward(batch.input());
      if (batch_idx == 0) return output;
      return levin::Batch({{"mean", output}, {"twice", 2 * output}});
    }
  } module;
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.callbacks = {
      levin::PredictionWriter({.output_dir = (folder / "out").string(), .write_interval = "batch_and_epoch"})};
  const auto predictions = levin::Trainer(options).predict(module, ToyData(8).loader(4));
  const levin::State first = levin::load_state(folder / "out" / "0" / "0.pt");
  CHECK(torch::equal(first.to_tensor(), predictions[0][0].input()));
  const levin::State second = levin::load_state(folder / "out" / "0" / "1.pt");
  CHECK(torch::equal(second.at("twice").to_tensor(), predictions[0][1]["twice"]));
  const levin::State all = levin::load_state(folder / "out" / "predictions.pt");
  CHECK(torch::equal(all.items()[0].items()[1].at("mean").to_tensor(), predictions[0][1]["mean"]));
  CHECK(contains(error_text<levin::UsageError>([] { levin::PredictionWriter({}); }), "output_dir"));
}

TEST_CASE("images are drawn in epochs that are due") {
  struct Drawing : ToyModule {
    void validation_step(const levin::Batch&, int64_t) override {}
    levin::Batch predict_step(const levin::Batch& batch, int64_t) override {
      return torch::rand({batch.size(), 1, 5, 6});
    }
  } module;
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 3;
  options.enable_checkpointing = false;
  options.callbacks = {levin::SampleImages({.every_n_epochs = 2, .output_dir = (folder / "drawn").string()})};
  const ToyData data(8);
  levin::Trainer(options).fit(module, data.loader(4), data.loader(4));
  CHECK(std::filesystem::exists(folder / "drawn" / "epoch=0.png"));
  CHECK_FALSE(std::filesystem::exists(folder / "drawn" / "epoch=1.png"));
  CHECK(std::filesystem::file_size(folder / "drawn" / "epoch=2.png") > 50);
  options.callbacks = {levin::SampleImages({.source = "batch"})};
  CHECK(contains(
      error_text<levin::UsageError>([&] { levin::Trainer(options).fit(module, data.loader(4), data.loader(4)); }),
      "SampleImages: expected images [samples, 1 or 3, height, width], got Float [4, 4]"));
}
