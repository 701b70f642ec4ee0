// Training on a GPU: the same numbers, precision, several devices, and no wait in a step.
#include <levin/trainer/core/accelerator.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/loops/toy.h"

namespace {

const torch::Device kGpu(torch::kCUDA, 0);

levin::TrainerOptions on(const TemporaryFolder& folder, const char* accelerator) {
  levin::TrainerOptions options = quiet(folder);
  options.accelerator = accelerator;
  options.max_epochs = 3;
  options.gradient_clip_val = 0.5;
  options.accumulate_grad_batches = 2;
  return options;
}

template <class M = ToyModule>
std::vector<torch::Tensor> train(levin::TrainerOptions options, const levin::data::Loaders& loader) {
  torch::manual_seed(1);
  const auto module = levin::make_module<M>();
  module->optimizers_of = [](ToyModule& m) {
    return levin::OptimizerConfig(levin::optim::AdamW(m.parameters(), {.lr = 0.01}),
                                  levin::StepLR({.step_size = 1, .gamma = 0.9}));
  };
  levin::Trainer(options).fit(*module, loader);
  std::vector<torch::Tensor> weights;
  for (const torch::Tensor& parameter : module->parameters()) weights.push_back(parameter.detach().cpu());
  return weights;
}

}  // namespace

TEST_CASE("a run on the GPU ends as that on the CPU") {
  const TemporaryFolder folder;
  const ToyData data(50, torch::kFloat);
  const auto loader = levin::data::DataLoader(levin::data::TensorDataset(data.input, data.target),
                                              {.batch_size = 8, .num_workers = 1, .pin_memory = true});
  CHECK(largest_difference(train(on(folder, "gpu"), loader), train(on(folder, "cpu"), data.loader(8))) < 1e-4);
}

TEST_CASE("batches from page-locked memory come whole, on a stream of their own") {
  struct Checking : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      CHECK(batch.input().device() == kGpu);
      CHECK(device() == kGpu);
      sums.push_back(batch.input().sum());
      return ToyModule::training_step(batch, batch_idx);
    }
    std::vector<torch::Tensor> sums;
  };
  const auto input = torch::randn({64, 4}), target = torch::randn({64, 1});
  const TemporaryFolder folder;
  Checking module;
  levin::TrainerOptions options = on(folder, "gpu");
  options.max_epochs = 1;
  levin::Trainer(options).fit(module, levin::data::DataLoader(levin::data::TensorDataset(input, target),
                                                              {.batch_size = 8, .pin_memory = true}));
  REQUIRE(module.sums.size() == 8);
  for (int64_t i = 0; i < 8; ++i)
    CHECK(std::abs((module.sums[static_cast<size_t>(i)].cpu() - input.narrow(0, 8 * i, 8).sum()).item<double>()) <
          1e-4);
}

TEST_CASE("a run on the GPU goes on from its checkpoint to the bit, dropout included") {
  const ToyData data(40);
  const auto run = [&](const TemporaryFolder& folder, int64_t epochs, const std::string& ckpt_path) {
    torch::manual_seed(1);
    const auto module = levin::make_module<ToyModule>(0.25);
    levin::TrainerOptions options = on(folder, "gpu");
    options.max_epochs = epochs;
    options.seed = 3;
    levin::Trainer(options).fit(*module, data.loader(8), {}, ckpt_path);
    std::vector<torch::Tensor> weights;
    for (const torch::Tensor& parameter : module->parameters()) weights.push_back(parameter.detach().cpu());
    return weights;
  };
  const TemporaryFolder whole, parts;
  const auto expected = run(whole, 4, "");
  run(parts, 2, "");
  CHECK(bit_equal(run(parts, 4, "last"), expected));
}

TEST_CASE("a module with parts on GPU and CPU stays as it is, and trains") {
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

TEST_CASE("what is on the wrong device is named") {
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

TEST_CASE("DeviceStatsMonitor logs the GPU's memory") {
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

TEST_CASE("dp over all GPUs ends as one of them") {
  const int gpus = levin::visible_gpus().count;
  if (gpus < 2) return;  // nothing to split
  const ToyData data(50);
  const TemporaryFolder folder;
  levin::TrainerOptions several = on(folder, "auto");
  several.gpus = gpus;
  CHECK(largest_difference(train(several, data.loader(16)), train(on(folder, "gpu"), data.loader(16))) < 1e-4);
}

namespace {

/// A run with graphs, and one without.
void graphs_end_as_eager(levin::TrainerOptions options) {
  options.accumulate_grad_batches = 1;
  options.max_epochs = 6;
  const ToyData data(53);  // the last batch is short
  const auto expected = train(options, data.loader(8));
  options.cuda_graphs = true;
  CHECK(largest_difference(train(options, data.loader(8)), expected) < 1e-5);
}

}  // namespace

TEST_CASE("steps captured in graphs end as those that are not") {
  const TemporaryFolder folder;
  graphs_end_as_eager(on(folder, "gpu"));
  levin::TrainerOptions mixed = on(folder, "gpu");
  mixed.precision = "bf16-mixed";
  graphs_end_as_eager(mixed);
  mixed.precision = "16-mixed";
  graphs_end_as_eager(mixed);
}

TEST_CASE("a captured step draws the random numbers of one that is not") {
  struct Dropping : ToyModule {
    Dropping() : ToyModule(0.5) {}
  };
  const TemporaryFolder folder;
  levin::TrainerOptions options = on(folder, "gpu");
  options.seed = 3;
  options.accumulate_grad_batches = 1;
  const ToyData data(64);
  const auto expected = train<Dropping>(options, data.loader(8));
  options.cuda_graphs = true;
  CHECK(largest_difference(train<Dropping>(options, data.loader(8)), expected) < 1e-5);
}

TEST_CASE("what a graph cannot hold is refused by name") {
  struct Waits : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      const auto loss = loss_of(batch);
      return loss * (loss.item<double>() > 0 ? 1.0 : 2.0);
    }
  };
  struct Hooked : ToyModule {
    void on_after_backward(levin::Run&) override {}
  };
  const ToyData data(64);
  const TemporaryFolder folder;
  levin::TrainerOptions options = on(folder, "gpu");
  options.accumulate_grad_batches = 1;
  options.cuda_graphs = true;
  const auto refusal = [&](ToyModule& module, levin::ModuleRef reference) {
    module.optimizers_of = [](ToyModule& m) { return levin::optim::SGD(m.parameters()); };
    return error_text<levin::UsageError>([&] { levin::Trainer(options).fit(reference, data.loader(8)); });
  };
  Waits waits;
  CHECK(contains(refusal(waits, waits), "the step cannot be captured"));
  Hooked hooked;
  CHECK(contains(refusal(hooked, hooked), "on_after_backward is overridden"));
}

TEST_CASE("one rank of ddp, over NCCL, ends as one GPU") {
  const ToyData data(50);
  const TemporaryFolder folder;
  levin::TrainerOptions ddp = on(folder, "gpu");
  ddp.strategy = "ddp";
  CHECK(largest_difference(train(ddp, data.loader(8)), train(on(folder, "gpu"), data.loader(8))) < 1e-5);
}
