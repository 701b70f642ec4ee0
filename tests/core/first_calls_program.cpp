// Trains one step twice from one seed with two compute threads: Adam's square root, softmax and GELU in the first calls
// of this process, and in later ones. Ends with 1 if the weights differ. `scripts/soak --first-calls N` runs it N
// times.
#include <levin/modules/lightning_module.h>
#include <levin/modules/optim/optimizers/adam.h>
#include <levin/trainer/trainer.h>
#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <iostream>

namespace {

struct Net : levin::LightningModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const torch::Tensor hidden = torch::gelu(first->forward(batch.input()));
    return torch::softmax(second->forward(hidden), 1).log().square().mean();
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::Adam(parameters(), {.lr = 1e-3}); }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(64, 512));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(512, 64));
};

std::vector<torch::Tensor> trained(const levin::Batch& batch) {
  torch::manual_seed(1);
  Net net;
  levin::TrainerOptions options;
  options.accelerator = "cpu";
  options.barebones = true;
  options.max_steps = 1;
  options.num_threads = 2;
  levin::Trainer(options).fit(net, std::vector<levin::Batch>{batch});
  return net.parameters();
}

}  // namespace

int main() {
  torch::manual_seed(2);
  // Random numbers that need no function of vectors.
  const levin::Batch batch(torch::rand({256, 64}));
  const std::vector<torch::Tensor> first = trained(batch), second = trained(batch);
  for (size_t i = 0; i < first.size(); ++i) {
    if (torch::equal(first[i], second[i])) continue;
    std::cerr << "the first training of this process ends with other weights than the second\n";
    return 1;
  }
  return 0;
}
