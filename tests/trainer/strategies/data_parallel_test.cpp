// Strategy dp over replicas on the CPU computes, logs and saves what one device would.
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

bool close(double a, double b, double relative) { return std::abs(a - b) <= relative * std::max(1.0, std::abs(b)); }

using levin::nn::ImageClassifier;
using levin::nn::ImageClassifierOptions;
using MakeConfig = std::function<levin::OptimizerConfig(ToyModule&)>;

levin::TrainerOptions on_cpus(const TemporaryFolder& folder, int count) {
  levin::TrainerOptions options = quiet(folder);
  options.accelerator = "cpu";
  options.devices = count;
  options.strategy = count > 1 ? "dp" : "single_device";
  options.max_epochs = 2;
  return options;
}

struct Trained {
  std::vector<torch::Tensor> weights, buffers;
  levin::Metrics metrics;
};

/// Batches of 8, the last one of each epoch with 3 samples: fewer than four replicas.
Trained train_toy(int count, const MakeConfig& optimizer,
                  const std::function<void(levin::TrainerOptions&)>& change = {}) {
  const ToyData data(27, torch::kDouble);
  torch::manual_seed(1);
  const auto module = levin::make_module<ToyModule>();
  module->to(torch::kDouble);
  module->optimizers_of = optimizer;
  const TemporaryFolder folder;
  levin::TrainerOptions options = on_cpus(folder, count);
  if (change) change(options);
  const levin::RunResult result = levin::Trainer(options).fit(*module, data.loader(8));
  return {copies(module->parameters()), copies(module->buffers()), result.metrics};
}

Trained train_images(int count, const std::string& net, const char* precision = "32-true") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = on_cpus(folder, count);
  options.max_epochs = 3;
  options.precision = precision;
  options.gradient_clip_val = 1.0;
  options.accumulate_grad_batches = 2;
  torch::manual_seed(3);
  const auto module = levin::make_module<ImageClassifier>(ImageClassifierOptions{
      .net = net, .hidden = 16, .optimizer = {"SGD", levin::optim::SGDOptions{.lr = 0.05, .momentum = 0.9}}});
  levin::data::SyntheticDigits data({.train_size = 150, .val_size = 40, .batch_size = 16});
  const levin::RunResult result = levin::Trainer(options).fit(*module, data);
  return {copies(module->parameters()), copies(module->buffers()), result.metrics};
}

/// Gains two rows in each epoch, and loses one.
struct GrowingModule : levin::LightningModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return (batch.input().matmul(table.t()).sin().mean(1, true) - batch.target()).square().mean();
  }
  void on_train_batch_end(levin::Run& run) override {
    if (run.batch_idx() == 0) levin::optim::append_rows(table, table.detach().narrow(0, 0, 2) / 3);
    if (run.batch_idx() == 2) levin::optim::keep_rows(table, torch::arange(1, table.size(0)));
  }
  levin::OptimizerConfig configure_optimizers() override {
    return torch::optim::Adam(parameters(), torch::optim::AdamOptions(0.01));
  }
  torch::Tensor table = register_parameter("table", torch::ones({2, 4}, torch::kDouble) / 4);
};

}  // namespace

TEST_CASE("parameters whose rows change train under dp as on one device, with an optimizer of LibTorch") {
  std::vector<torch::Tensor> tables;
  const auto input = torch::arange(26 * 4, torch::kDouble).mul(0.7).sin().reshape({26, 4});
  for (const int count : {1, 2, 3}) {
    const TemporaryFolder folder;
    const auto module = levin::make_module<GrowingModule>();
    const levin::data::DataLoader loader(levin::data::TensorDataset(input, input.sum(1, true)), {.batch_size = 8});
    levin::Trainer(on_cpus(folder, count)).fit(*module, loader);
    tables.push_back(module->table.detach());
  }
  REQUIRE(tables[0].size(0) == 4);
  CHECK(torch::allclose(tables[1], tables[0], 1e-10));
  CHECK(torch::allclose(tables[2], tables[0], 1e-10));
}

TEST_CASE("dp trains as one device does, whatever the optimizer and the number of replicas") {
  const std::vector<std::pair<std::string, MakeConfig>> optimizers = {
      {"SGD", [](ToyModule& m) { return levin::optim::SGD(m.parameters(), {.lr = 0.1, .momentum = 0.9}); }},
      {"AdamW", [](ToyModule& m) { return levin::optim::AdamW(m.parameters(), {.lr = 0.01}); }},
      {"RMSprop", [](ToyModule& m) { return levin::optim::RMSprop(m.parameters(), {.lr = 0.01}); }},
      {"torch::optim::SGD",
       [](ToyModule& m) { return torch::optim::SGD(m.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9)); }},
  };
  for (const auto& [name, optimizer] : optimizers) {
    const Trained one = train_toy(1, optimizer);
    for (const int count : {2, 3, 4}) {
      INFO(name << " on " << count);
      const Trained several = train_toy(count, optimizer);
      CHECK(largest_difference(one.weights, several.weights) < 1e-10);
      CHECK(close(several.metrics.at("train_loss"), one.metrics.at("train_loss"), 1e-10));
    }
  }
}

TEST_CASE("dp trains as one device does with accumulation and clipping") {
  const auto accumulate = [](levin::TrainerOptions& options) {
    options.accumulate_grad_batches = 3;
    options.gradient_clip_val = 0.1;
    options.deterministic = true;
  };
  const MakeConfig optimizer = [](ToyModule& m) { return levin::optim::Adam(m.parameters(), {.lr = 0.02}); };
  const Trained one = train_toy(1, optimizer, accumulate);
  for (const int count : {2, 4})
    CHECK(largest_difference(one.weights, train_toy(count, optimizer, accumulate).weights) < 1e-10);
}

TEST_CASE("dp trains and evaluates networks of images as one device does") {
  for (const char* net : {"mlp", "lenet"}) {
    INFO(net);
    const Trained one = train_images(1, net);
    for (const int count : {2, 3}) {
      const Trained several = train_images(count, net);
      CHECK(largest_difference(one.weights, several.weights) < 1e-5);
      for (const auto& [name, value] : one.metrics) {
        INFO(name);
        CHECK(close(several.metrics.at(name), value, 1e-4));
      }
    }
  }
}

TEST_CASE("dp in float64 differs by rounding alone") {
  for (const char* net : {"mlp", "lenet"}) {
    const Trained one = train_images(1, net, "64-true");
    for (const int count : {2, 3, 4}) {
      INFO(net << " on " << count);
      CHECK(largest_difference(one.weights, train_images(count, net, "64-true").weights) < 1e-10);
    }
  }
}

TEST_CASE("replicas run in the run's precision") {
  struct Watching : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      const auto output = net->forward(batch.input());
      log("is_bf16", output.scalar_type() == torch::kBFloat16 ? 1.0 : 0.0, {.reduce_fx = levin::ReduceFx::Min});
      return torch::mse_loss(output.to(torch::kFloat), batch.target());
    }
  };
  const ToyData data(16);
  for (const char* precision : {"bf16-mixed", "16-mixed"}) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = on_cpus(folder, 2);
    options.precision = precision;
    options.log_every_n_steps = 1;
    const auto module = levin::make_module<Watching>();
    const auto result = levin::Trainer(options).fit(*module, data.loader(8));
    CHECK(result.metrics.at("is_bf16") == (precision == std::string("bf16-mixed") ? 1.0 : 0.0));
    CHECK(module->parameters()[0].scalar_type() == torch::kFloat);
  }
}

namespace {

/// Computes on one device what BatchNorm does under dp: normalises each part by itself, and averages the statistics.
struct WithBatchNorm : ToyModule {
  explicit WithBatchNorm(int parts_ = 1)
      : ToyModule(torch::nn::Sequential(torch::nn::Linear(4, 8), torch::nn::BatchNorm1d(8), torch::nn::ReLU(),
                                        torch::nn::Linear(8, 1))),
        parts(parts_),
        norm(std::dynamic_pointer_cast<torch::nn::BatchNorm1dImpl>(net[1])) {
    to(torch::kDouble);
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    if (parts == 1) return loss_of(batch);
    torch::Tensor loss, mean = torch::zeros({8}, torch::kDouble), variance = torch::zeros({8}, torch::kDouble);
    const auto mean_before = norm->running_mean.clone(), variance_before = norm->running_var.clone();
    const auto batches_before = norm->num_batches_tracked.clone();
    for (const levin::Batch& part : batch.chunk(parts)) {
      // Backward still needs what these tensors hold.
      norm->running_mean.set_data(mean_before.clone());
      norm->running_var.set_data(variance_before.clone());
      const double share = static_cast<double>(part.size()) / static_cast<double>(batch.size());
      const auto of_part = loss_of(part) * share;
      loss = loss.defined() ? loss + of_part : of_part;
      mean += norm->running_mean * share;
      variance += norm->running_var * share;
    }
    norm->running_mean.set_data(mean);
    norm->running_var.set_data(variance);
    norm->num_batches_tracked.copy_(batches_before + 1);
    return loss;
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::SGD(parameters(), {.lr = 0.1, .momentum = 0.9});
  }
  int parts;
  torch::nn::BatchNorm1d norm;
};

Trained train_batch_norm(int devices, int parts) {
  const ToyData data(27, torch::kDouble);
  torch::manual_seed(1);
  const auto module = levin::make_module<WithBatchNorm>(parts);
  const TemporaryFolder folder;
  levin::Trainer(on_cpus(folder, devices)).fit(*module, data.loader(9));
  return {copies(module->parameters()), copies(module->buffers()), {}};
}

}  // namespace

TEST_CASE("BatchNorm under dp normalises each part by itself, and averages the running statistics") {
  for (const int count : {2, 3}) {
    const Trained expected = train_batch_norm(1, count), found = train_batch_norm(count, 1);
    CHECK(largest_difference(expected.weights, found.weights) < 1e-10);
    CHECK(largest_difference(expected.buffers, found.buffers) < 1e-10);
  }
}

namespace {

/// Logs in every way; weighs its losses itself.
struct Logging : ToyModule {
  Logging() : accuracy({.task = "binary"}), kept({.task = "binary"}) { register_metric("kept", kept); }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    const auto loss = loss_of(batch);
    log("mean", batch.input().mean());
    log("sum", batch.input().sum(), {.on_step = false, .on_epoch = true, .reduce_fx = levin::ReduceFx::Sum});
    log("least", batch.input().min(), {.on_step = false, .on_epoch = true, .reduce_fx = levin::ReduceFx::Min});
    log("greatest", batch.input().max().item<double>(),
        {.on_step = false, .on_epoch = true, .reduce_fx = levin::ReduceFx::Max});
    log("epochs", static_cast<double>(current_epoch()));
    accuracy.update(batch.input().select(1, 0).sigmoid(), batch.target().select(1, 0) > 0);
    log("accuracy", accuracy);
    kept.update(batch.input().select(1, 0).sigmoid(), batch.target().select(1, 0) > 0);
    const auto rows = static_cast<double>(batch.size());
    if (batch_idx % 2 == 0) return {loss, 3 * rows};
    return {loss, torch::tensor(2 * rows)};
  }
  void on_train_epoch_end(levin::Run&) override { log("kept", kept); }
  void validation_step(const levin::Batch& batch, int64_t) override {
    log("val_loss", loss_of(batch));
    log("val_rows", static_cast<double>(batch.size()), {.reduce_fx = levin::ReduceFx::Sum});
  }
  levin::Batch predict_step(const levin::Batch& batch, int64_t) override {
    return levin::Batch({{"output", net->forward(batch.input())}});
  }
  levin::metrics::Accuracy accuracy, kept;
};

}  // namespace

TEST_CASE("replicas log, return and predict what one device would") {
  const ToyData data(27);
  std::vector<levin::Metrics> metrics;
  std::vector<std::vector<torch::Tensor>> weights;
  std::vector<torch::Tensor> predictions;
  for (const int count : {1, 2, 4}) {
    torch::manual_seed(1);
    const auto module = levin::make_module<Logging>();
    const TemporaryFolder folder;
    levin::TrainerOptions options = on_cpus(folder, count);
    options.log_every_n_steps = 1;
    levin::Trainer trainer(options);
    metrics.push_back(trainer.fit(*module, data.loader(8), data.loader(5)).metrics);
    weights.push_back(copies(module->parameters()));
    std::vector<torch::Tensor> outputs;
    const auto by_loader = trainer.predict(*module, data.loader(8));
    for (const levin::Batch& batch : by_loader.at(0)) outputs.push_back(batch["output"]);
    predictions.push_back(torch::cat(outputs));
    CHECK_FALSE(module->in_run());
  }
  CHECK(metrics[0].at("kept") == metrics[0].at("accuracy"));
  for (size_t i = 1; i < metrics.size(); ++i) {
    CHECK(largest_difference(weights[0], weights[i]) < 1e-6);
    CHECK(torch::allclose(predictions[0], predictions[i], 1e-5, 1e-6));
    REQUIRE(metrics[i].size() == metrics[0].size());
    for (const auto& [name, value] : metrics[0]) {
      INFO(name);
      CHECK(close(metrics[i].at(name), value, 1e-5));
    }
  }
}

TEST_CASE("a run under dp resumes from its checkpoint to the bit") {
  const ToyData data(27);
  const auto run = [&](const TemporaryFolder& folder, int64_t epochs, const std::string& ckpt_path) {
    torch::manual_seed(1);
    const auto module = levin::make_module<ToyModule>(0.25);
    levin::TrainerOptions options = on_cpus(folder, 2);
    options.deterministic = true;  // replicas draw their random numbers one after the other
    options.max_epochs = epochs;
    options.seed = 5;
    levin::Trainer(options).fit(*module, data.loader(8), {}, ckpt_path);
    return copies(module->parameters());
  };
  const TemporaryFolder whole, parts;
  const auto expected = run(whole, 4, "");
  run(parts, 2, "");
  CHECK(bit_equal(run(parts, 4, "last"), expected));
}

TEST_CASE("an exception in a replica names it and its device, and the run ends in order") {
  struct Failing : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if ((batch.input() > 90).any().item<bool>()) throw levin::UsageError("a sample is out of range");
      return ToyModule::training_step(batch, batch_idx);
    }
  };
  ToyData data(8);
  data.input[7][0] = 99;  // in the last replica's part
  const auto module = levin::make_module<Failing>();
  const TemporaryFolder folder;
  levin::Trainer trainer(on_cpus(folder, 2));
  const std::string error = error_text<levin::UsageError>([&] { trainer.fit(*module, data.loader(8)); });
  CHECK(contains(error, "a sample is out of range"));
  CHECK(contains(error, "replica 1"));
  CHECK(contains(error, "cpu"));
  CHECK_FALSE(module->in_run());
}

TEST_CASE("what dp cannot run is refused, with what to do") {
  const ToyData data(8);
  const TemporaryFolder folder;
  const auto error_of = [&](levin::LightningModule& module, const levin::data::Loaders& loader) {
    levin::Trainer trainer(on_cpus(folder, 2));
    return error_text<levin::UsageError>([&] { trainer.fit(levin::ModuleRef(module), loader); });
  };
  SECTION("a module that can make no replica") {
    ToyModule module;
    const std::string error = error_of(module, data.loader(4));
    CHECK(contains(error, "levin::make_module"));
    CHECK(contains(error, "clone(device)"));
  }
  SECTION("manual optimization") {
    struct Manual : ToyModule {
      Manual() { automatic_optimization = false; }
    };
    CHECK(contains(error_of(*levin::make_module<Manual>(), data.loader(4)), "manual optimization"));
  }
  SECTION("LBFGS") {
    const auto module = levin::make_module<ToyModule>();
    module->optimizers_of = [](ToyModule& m) { return levin::optim::LBFGS(m.parameters()); };
    CHECK(contains(error_of(*module, data.loader(4)), "LBFGS"));
  }
  SECTION("a batch that cannot be split") {
    struct Own {
      torch::Tensor input;
      int64_t size() const { return input.size(0); }
      Own to(torch::Device device) const { return {input.to(device)}; }
    };
    struct OfOwn : ToyModule {
      levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
        return net->forward(batch.as<Own>().input).mean();
      }
      levin::Batch on_before_batch_transfer(levin::Batch batch, int64_t) override { return Own{batch.input()}; }
    };
    CHECK(contains(error_text<levin::Error>(
                       [&] { levin::Trainer(on_cpus(folder, 2)).fit(*levin::make_module<OfOwn>(), data.loader(4)); }),
                   "narrow(int64_t start, int64_t length) const"));
  }
}

TEST_CASE("a module that implements clone needs no factory") {
  struct Cloning : ToyModule {
    std::shared_ptr<torch::nn::Module> clone(const std::optional<torch::Device>&) const override {
      return std::make_shared<Cloning>();
    }
  };
  const ToyData data(8);
  const TemporaryFolder folder;
  Cloning module;
  levin::Trainer(on_cpus(folder, 2)).fit(module, data.loader(4));
  CHECK(module.parameters()[0].grad().defined());
}

TEST_CASE("each replica builds its own parts in configure_model, once") {
  struct Building : ToyModule {
    void configure_model() override { head = register_module("head", torch::nn::Linear(1, 1)); }
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      return torch::mse_loss(head(net->forward(batch.input())), batch.target());
    }
    torch::nn::Linear head = nullptr;
  };
  const ToyData data(8);
  const TemporaryFolder folder;
  const auto module = levin::make_module<Building>();
  levin::Trainer trainer(on_cpus(folder, 2));
  trainer.fit(*module, data.loader(4));
  trainer.fit(*module, data.loader(4));
  CHECK(module->children().size() == 2);
}
