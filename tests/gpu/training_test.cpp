// Training on a GPU: the same numbers as on the CPU, and parts and tensors on several devices.
#include "tests/gpu/training.h"

TEST_CASE("a run on the GPU ends as that on the CPU", "[training]") {
  const TemporaryFolder folder;
  const ToyData data(50, torch::kFloat);
  const auto loader = levin::data::DataLoader(levin::data::TensorDataset(data.input, data.target),
                                              {.batch_size = 8, .num_workers = 1, .pin_memory = true});
  CHECK(largest_difference(train(on(folder, "gpu"), loader), train(on(folder, "cpu"), data.loader(8))) < 1e-4);
}

TEST_CASE("every optimizer steps on the GPU as on the CPU", "[training]") {
  using Make = std::function<levin::OptimizerConfig(ToyModule&)>;
  namespace optim = levin::optim;
  const std::vector<std::pair<const char*, Make>> all = {
      {"SGD", [](auto& m) { return optim::SGD(m.parameters(), {.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01}); }},
      {"Adam", [](auto& m) { return optim::Adam(m.parameters(), {.weight_decay = 0.01, .amsgrad = true}); }},
      {"AdamW", [](auto& m) { return optim::AdamW(m.parameters()); }},
      {"Adagrad", [](auto& m) { return optim::Adagrad(m.parameters()); }},
      {"RMSprop", [](auto& m) { return optim::RMSprop(m.parameters(), {.momentum = 0.9, .centered = true}); }},
      {"Adadelta", [](auto& m) { return optim::Adadelta(m.parameters()); }},
      {"NAdam", [](auto& m) { return optim::NAdam(m.parameters()); }},
      {"RAdam", [](auto& m) { return optim::RAdam(m.parameters()); }},
      {"Lion", [](auto& m) { return optim::Lion(m.parameters()); }},
      {"LAMB", [](auto& m) { return optim::LAMB(m.parameters()); }}};
  const ToyData data(48);
  for (const auto& [name, make] : all) {
    INFO(name);
    const auto trained = [&, &make = make](const char* accelerator) {
      const TemporaryFolder folder;
      torch::manual_seed(1);
      ToyModule module;
      module.optimizers_of = make;
      levin::TrainerOptions options = on(folder, accelerator);
      options.precision = "64-true";
      levin::Trainer(options).fit(module, data.loader(8));
      return weights_on_cpu(module);
    };
    CHECK(largest_difference(trained("gpu"), trained("cpu")) < 1e-9);
  }
}

TEST_CASE("metrics count on the GPU as on the CPU", "[training]") {
  namespace metrics = levin::metrics;
  torch::manual_seed(2);
  const auto scores = torch::randn({256, 5}).softmax(1), classes = torch::randint(5, {256});
  const auto measured = [&](const std::function<std::shared_ptr<metrics::Metric>()>& make, torch::Device device) {
    const auto metric = make();
    metric->to(device);
    for (int64_t i = 0; i < 4; ++i)
      metric->update(scores.narrow(0, 64 * i, 64).to(device), classes.narrow(0, 64 * i, 64).to(device));
    return metric->compute().cpu();
  };
  const std::vector<std::function<std::shared_ptr<metrics::Metric>()>> all = {
      [] {
        return std::make_shared<metrics::Accuracy>(metrics::AccuracyOptions{.task = "multiclass", .num_classes = 5});
      },
      [] { return std::make_shared<metrics::AUROC>(metrics::AUROC::Options{.task = "multiclass", .num_classes = 5}); },
      [] {
        return std::make_shared<metrics::ConfusionMatrix>(
            metrics::ConfusionMatrixOptions{.task = "multiclass", .num_classes = 5});
      }};
  for (const auto& make : all)
    CHECK(
        torch::allclose(measured(make, kGpu).to(torch::kDouble), measured(make, torch::kCPU).to(torch::kDouble), 1e-5));
}

TEST_CASE("a module with parts on GPU and CPU stays as it is, and trains", "[training]") {
  struct Spread : ToyModule {
    Spread() { head->to(kGpu); }
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      const auto hidden = net->forward(batch.input().cpu());
      return torch::mse_loss(head(hidden.to(kGpu)), batch.target().to(kGpu));
    }
    torch::nn::Linear head = register_module("head", torch::nn::Linear(1, 1));
  };
  const ToyData data(24);
  const TemporaryFolder folder;
  Spread module;
  module.optimizers_of = [](ToyModule& m) { return levin::optim::AdamW(m.parameters(), {.lr = 0.01}); };
  levin::TrainerOptions options = on(folder, "auto");
  const auto before = copies(module.parameters());
  const auto result = levin::Trainer(options).fit(module, data.loader(8));
  CHECK(module.net->parameters()[0].is_cpu());
  CHECK(module.head->weight.device() == kGpu);
  CHECK(std::isfinite(result.wall_seconds));
  const auto after = copies(module.parameters());
  for (size_t i = 0; i < before.size(); ++i) CHECK_FALSE(torch::equal(before[i].cpu(), after[i].cpu()));
}

TEST_CASE("a tensor on the wrong device is named", "[training]") {
  struct Mixing : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      return (batch.input() * mask).sum();
    }
    torch::Tensor mask = torch::ones({8, 4});
  };
  const ToyData data(8);
  const TemporaryFolder folder;
  Mixing module;
  levin::Trainer trainer(on(folder, "gpu"));
  CHECK(contains(error_text<levin::UsageError>([&] { trainer.fit(module, data.loader(8)); }), "the run is on cuda:0"));
}

TEST_CASE("DeviceStatsMonitor logs the GPU's memory", "[training]") {
  const ToyData data(24);
  const TemporaryFolder folder;
  ToyModule module;
  levin::TrainerOptions options = on(folder, "gpu");
  options.callbacks = {levin::DeviceStatsMonitor({.every_n_steps = 1})};
  options.log_every_n_steps = 1;
  const auto metrics = levin::Trainer(options).fit(module, data.loader(8)).metrics;
  CHECK(metrics.at("DeviceStatsMonitor.on_train_batch_end/allocated_bytes.current") > 0);
  CHECK(metrics.at("DeviceStatsMonitor.on_train_batch_end/memory_free_bytes") > 0);
}
