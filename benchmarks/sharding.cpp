// Steps and memory of strategies that divide a model among ranks, over Gloo on this machine.
//
//   benchmark_sharding CASE STRATEGY RANKS STEPS [shard]
//
// Rank 0 prints the median of a step in microseconds, and the ranks' resident memory until the end of training, the
// largest peak and the last, in MB. With 0 steps it prints what a dry run says of the memory of a rank, in MB.
// benchmarks/sharding.py has the peers and the table. Cases: mlp, 96 layers of 1024 (101 million
// parameters, AdamW), made by configure_model, with batches of 2, whose activations are small; none, a layer of 8, for
// what a process takes without a model; gpt, 8 blocks of 512 (25 million, AdamW).
#include <levin/core/system/memory_use.h>
#include <levin/levin.h>
#include <levin/program/commands/dry_run.h>
#include <levin/trainer/trainer_impl.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/statistics.h"

namespace F = torch::nn::functional;
namespace nn = torch::nn;

namespace {

constexpr int64_t kWarmUp = 3;

int64_t width_of(const std::string& name) { return name == "none" ? 8 : 1024; }

struct Net : levin::LightningModule {
  explicit Net(std::string which) : name(std::move(which)) {}
  void configure_model() override {
    if (name == "gpt") {
      gpt =
          register_module("gpt", levin::nn::GPT(levin::nn::GPTOptions{
                                     .vocab_size = 256, .block_size = 128, .layers = 8, .heads = 8, .embedding = 512}));
    } else {
      register_module("layers", layers);
      for (int64_t i = 0; i < (name == "none" ? 1 : 96); ++i) {
        layers->push_back(nn::Linear(width_of(name), width_of(name)));
        layers->push_back(nn::ReLU());
      }
    }
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    if (name == "gpt") return F::cross_entropy(gpt(batch.input()).flatten(0, 1), batch.target().flatten());
    return F::mse_loss(layers->forward(batch.input()), batch.target());
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::AdamW(parameters(), {.lr = 1e-4}); }
  void on_train_batch_end(levin::Run& /*run*/) override { clock.tick(); }
  void on_train_end(levin::Run& run) override {
    const levin::HostMemory own = levin::host_memory();
    memory = torch::tensor({own.resident_peak, own.resident}, torch::kDouble) / 1e6;
    run.comm().all_reduce(memory, levin::ReduceOp::Max);
  }

  std::string name;
  levin::nn::GPT gpt{nullptr};
  nn::Sequential layers;
  StepClock clock = {};
  torch::Tensor memory;
};

std::vector<levin::Batch> make_batches(const std::string& name) {
  std::vector<levin::Batch> batches;
  for (int i = 0; i < 4; ++i)
    if (name == "gpt") {
      const torch::Tensor tokens = torch::randint(256, {4, 129}, torch::kLong);
      batches.emplace_back(tokens.slice(1, 0, 128).contiguous(), tokens.slice(1, 1).contiguous());
    } else {
      batches.emplace_back(torch::randn({2, width_of(name)}), torch::randn({2, width_of(name)}));
    }
  return batches;
}

/// Prints the sum of the memory that a dry run of these options finds.
void print_planned_memory(const levin::TrainerOptions& options, const std::string& name) {
  const auto findings = std::make_shared<levin::cli::DryRunFindings>();
  levin::TrainerOptions dry = levin::cli::dry_run_options(options);
  dry.callbacks.push_back(std::make_shared<levin::cli::DryRun>(findings, levin::resolve(options)));
  Net net(name);
  levin::Trainer::Impl::for_dry_run(std::move(dry))->fit(net, make_batches(name));
  for (const auto& [device, need] : findings->memory) std::printf("%.2f\n", static_cast<double>(need.sum()) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: benchmark_sharding mlp|none|gpt STRATEGY RANKS STEPS [all|gradients]\n");
    return 2;
  }
  levin::TrainerOptions options;
  options.strategy = argv[2];
  options.devices = static_cast<int>(std::atoi(argv[3]));
  options.max_steps = std::atoll(argv[4]);
  if (argc > 5) options.strategy = {"fsdp", levin::FSDPOptions{.shard = argv[5]}};
  options.accelerator = "cpu";
  options.barebones = true;
  options.use_distributed_sampler = false;
  torch::manual_seed(1);
  if (options.max_steps == 0) {
    print_planned_memory(options, argv[1]);
    return 0;
  }
  if (const auto code = levin::launch(options)) return *code;
  levin::Trainer trainer(options);
  Net net(argv[1]);
  trainer.fit(net, make_batches(argv[1]));
  net.clock.microseconds.erase(net.clock.microseconds.begin(), net.clock.microseconds.begin() + kWarmUp);
  if (trainer.is_global_zero())
    std::printf("%.1f %.2f %.2f\n", Rounds{net.clock.microseconds}.median(), net.memory[0].item<double>(),
                net.memory[1].item<double>());
}
