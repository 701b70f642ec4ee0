// Callbacks, averages and profilers in a run on a GPU: the same numbers as on the CPU.
#include "tests/gpu/training.h"
#include "tests/trainer/tuner/tuned.h"

namespace {

/// What a run with callbacks ends with.
struct Ended {
  std::vector<torch::Tensor> weights;
  levin::RunResult result;
};

Ended train_with(const char* accelerator, const std::function<void(levin::TrainerOptions&)>& change) {
  const TemporaryFolder folder;
  const ToyData data(50, torch::kDouble);
  levin::TrainerOptions options = on(folder, accelerator);
  options.precision = "64-true";
  options.max_epochs = 4;
  options.log_every_n_steps = 1;
  change(options);
  torch::manual_seed(1);
  ToyModule module;
  module.optimizers_of = adamw_with_steps;
  Ended ended;
  ended.result = levin::Trainer(options).fit(module, data.loader(8));
  ended.weights = weights_on_cpu(module);
  return ended;
}

}  // namespace

TEST_CASE("averages, pruning and gradient norms on the GPU are those of the CPU", "[training]") {
  using Change = std::function<void(levin::TrainerOptions&)>;
  const std::vector<std::pair<const char*, Change>> all = {
      {"SWA", [](auto& o) { o.callbacks = {levin::StochasticWeightAveraging({.swa_lrs = 0.01})}; }},
      {"EMA", [](auto& o) { o.callbacks = {levin::EMAWeightAveraging({.decay = 0.9})}; }},
      {"pruning",
       [](auto& o) { o.callbacks = {levin::ModelPruning({.pruning_fn = "l1_unstructured", .amount = 0.3})}; }},
      {"norms", [](auto& o) { o.callbacks = {levin::GradNormMonitor()}; }},
      {"all", [](auto& o) {
         o.callbacks = {levin::EMAWeightAveraging({.decay = 0.9}), levin::GradNormMonitor(),
                        levin::ModelPruning({.pruning_fn = "l1_unstructured", .amount = 0.3}),
                        levin::ThroughputMonitor()};
       }}};
  for (const auto& [name, change] : all) {
    INFO(name);
    const Ended gpu = train_with("gpu", change), cpu = train_with("cpu", change);
    CHECK(largest_difference(gpu.weights, cpu.weights) < 1e-9);
    for (const auto& [name_of_value, value] : cpu.result.metrics)
      if (name_of_value.rfind("grad_", 0) == 0) CHECK(std::abs(metric(gpu.result, name_of_value) - value) < 1e-6);
  }
}

TEST_CASE("profilers of a run on the GPU change nothing, and write what they saw", "[training]") {
  const Ended plain = train_with("gpu", [](auto&) {});
  for (const char* profiler : {"simple", "trace", "memory"}) {
    INFO(profiler);
    const TemporaryFolder profiles;
    const Ended profiled = train_with("gpu", [&](levin::TrainerOptions& options) {
      options.profiler = profiler;
      options.default_root_dir = profiles.path().string();
    });
    CHECK(largest_difference(profiled.weights, plain.weights) == 0);
    int64_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(profiles.path()))
      if (entry.path().filename().string().starts_with(std::string("fit-") + profiler)) {
        ++files;
        CHECK(entry.file_size() > 0);
      }
    CHECK(files > 0);
  }
}
