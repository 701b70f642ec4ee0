// One step of ddp: two ranks on this machine over Gloo, each with its batch in memory, by way of Trainer.
//
//   benchmark_ddp CASE STEPS      rank 0 prints the median of a step in microseconds; benchmarks/ddp.py has the peers
#include <levin/levin.h>

#include <chrono>
#include <cstdio>
#include <iostream>

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

struct Net : levin::LightningModule {
  explicit Net(const std::string& name) : net(register_module("net", make_net(name))) {}
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return F::cross_entropy(net->forward(batch.input()), batch.target());
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::SGD(parameters(), {.lr = 0.01, .momentum = 0.9});
  }
  void on_train_batch_end(levin::Run&) override {
    const auto now = std::chrono::steady_clock::now();
    microseconds.push_back(std::chrono::duration<double, std::micro>(now - last).count());
    last = now;
  }
  nn::Sequential net;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
  std::vector<double> microseconds = {};
};

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "mlp";
  const int64_t steps = argc > 2 ? std::atoll(argv[2]) : 500;
  levin::TrainerOptions options;
  options.strategy = "ddp";
  options.accelerator = "cpu";
  options.devices = 2;
  options.max_steps = steps;
  options.barebones = true;
  options.use_distributed_sampler = false;
  levin::Trainer trainer(options);
  Net net(name);
  torch::manual_seed(1);
  std::vector<levin::Batch> batches;
  for (int i = 0; i < 50; ++i) batches.emplace_back(torch::randn({32, 1, 28, 28}), torch::randint(10, {32}));
  trainer.fit(net, batches);
  net.microseconds.erase(net.microseconds.begin(), net.microseconds.begin() + steps / 10);
  if (trainer.is_global_zero()) std::printf("%.1f\n", Rounds{net.microseconds}.median());
}
