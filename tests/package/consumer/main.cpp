// A separate project that uses the installed levin: fitting a line takes headers, library and LibTorch.
#include <levin/levin.h>

#include <cmath>
#include <iostream>

struct Line : levin::LightningModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return torch::mse_loss(net(batch.input()), batch.target());
  }
  levin::OptimizerConfig configure_optimizers() override { return torch::optim::SGD(parameters(), 0.1); }

  torch::nn::Linear net = register_module("net", torch::nn::Linear(1, 1));
};

int main() {
  torch::manual_seed(1);
  auto x = torch::linspace(-1, 1, 32).unsqueeze(1);
  levin::data::DataLoader loader(levin::data::TensorDataset(x, 2 * x + 1), {.batch_size = 8});
  levin::TrainerOptions options;
  options.max_epochs = 50;
  options.barebones = true;
  Line line;
  levin::Trainer(options).fit(line, loader);
  double slope = line.net->weight.item<double>();
  std::cout << "slope " << slope << "\n";
  return std::abs(slope - 2) < 0.01 ? 0 : 1;
}
