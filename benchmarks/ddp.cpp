// One step of ddp: two ranks on this machine, each with its batch in memory, through Trainer.
//
//   benchmark_ddp CASE STEPS [STRATEGY [TRACE]]
//
// Rank 0 prints the median of a step in microseconds; benchmarks/ddp.py has the peers. With TRACE it writes a trace of
// the last steps to that file, for chrome://tracing, and prints the share of the reductions' time in which backward
// computes.
#include <levin/levin.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "benchmarks/statistics.h"

namespace F = torch::nn::functional;
namespace nn = torch::nn;

namespace {

/// The networks of benchmarks/ddp.py: mlp, lenet, and large, an MLP of 50 million parameters.
nn::Sequential make_net(const std::string& name) {
  if (name == "mlp") return nn::Sequential(nn::Flatten(), nn::Linear(784, 64), nn::ReLU(), nn::Linear(64, 10));
  if (name == "lenet")
    return nn::Sequential(nn::Conv2d(1, 6, 5), nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(6, 16, 5), nn::ReLU(),
                          nn::MaxPool2d(2), nn::Flatten(), nn::Linear(256, 120), nn::ReLU(), nn::Linear(120, 84),
                          nn::ReLU(), nn::Linear(84, 10));
  return nn::Sequential(nn::Flatten(), nn::Linear(784, 4800), nn::ReLU(), nn::Linear(4800, 4800), nn::ReLU(),
                        nn::Linear(4800, 4800), nn::ReLU(), nn::Linear(4800, 10));
}

namespace profiler = torch::autograd::profiler;

/// Records a profile from its construction to `save`.
class Trace {
 public:
  Trace() {
    const std::set<profiler::ActivityType> activities = {profiler::ActivityType::CPU};
    const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
    profiler::prepareProfiler(config, activities);
    profiler::enableProfiler(config, activities);
  }

  /// Ends the trace, and prints how much of the reductions is hidden by backward.
  void save(const std::string& file) {
    const auto result = profiler::disableProfiler();
    result->save(file);
    std::vector<std::pair<uint64_t, uint64_t>> reductions, computations;
    for (const profiler::KinetoEvent& event : result->events()) {
      const bool reduces = event.name().find("all_reduce") != std::string::npos && event.isAsync();
      const bool computes = event.name().rfind("autograd::engine::evaluate_function", 0) == 0;
      if (reduces) reductions.emplace_back(event.startNs(), event.endNs());
      if (computes) computations.emplace_back(event.startNs(), event.endNs());
    }
    const uint64_t reduced = length(reductions), computed = length(computations);
    std::vector<std::pair<uint64_t, uint64_t>> both = reductions;
    both.insert(both.end(), computations.begin(), computations.end());
    const uint64_t hidden = reduced + computed - length(both);
    std::printf("%zu reductions; backward computes in %.0f %% of their time\n", reductions.size(),
                100.0 * static_cast<double>(hidden) / static_cast<double>(reduced));
  }

 private:
  /// Returns the length of the union of the spans.
  static uint64_t length(std::vector<std::pair<uint64_t, uint64_t>> spans) {
    std::sort(spans.begin(), spans.end());
    uint64_t sum = 0, end = 0;
    for (const auto& [from, to] : spans) {
      if (to > end) sum += to - std::max(from, end);
      end = std::max(end, to);
    }
    return sum;
  }
};

struct Net : levin::LightningModule {
  explicit Net(const std::string& name) : net(register_module("net", make_net(name))) {}
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return F::cross_entropy(net->forward(batch.input()), batch.target());
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::SGD(parameters(), {.lr = 0.01, .momentum = 0.9});
  }
  void on_train_batch_start(levin::Run& run) override {
    if (run.state().global_step == traced_from && run.comm().rank() == 0) trace.emplace();
  }
  void on_train_batch_end(levin::Run&) override { clock.tick(); }
  nn::Sequential net;
  std::optional<Trace> trace = {};
  int64_t traced_from = -1;
  StepClock clock = {};
};

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "mlp";
  const int64_t steps = argc > 2 ? std::atoll(argv[2]) : 500;
  levin::TrainerOptions options;
  options.strategy = argc > 3 ? argv[3] : "ddp";
  options.accelerator = "cpu";
  options.devices = 2;
  options.max_steps = steps;
  options.barebones = true;
  options.use_distributed_sampler = false;
  if (const auto code = levin::launch(options)) return *code;
  levin::Trainer trainer(options);
  Net net(name);
  torch::manual_seed(1);
  std::vector<levin::Batch> batches;
  for (int i = 0; i < 50; ++i) batches.emplace_back(torch::randn({32, 1, 28, 28}), torch::randint(10, {32}));
  constexpr int64_t kTraced = 5;
  if (argc > 4) net.traced_from = steps - kTraced;
  trainer.fit(net, batches);
  if (net.trace) net.trace->save(argv[4]);
  net.clock.microseconds.erase(net.clock.microseconds.begin(), net.clock.microseconds.begin() + steps / 10);
  if (trainer.is_global_zero()) std::printf("%.1f\n", Rounds{net.clock.microseconds}.median());
}
