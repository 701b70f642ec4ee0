// One network trained twice: by a hand-written LibTorch loop, and by levin. The weights are bitwise equal; levin adds
// what the hand-written loop lacks (validation, logs, a progress bar, stopping, resuming).
#include <levin/levin.h>

#include <iostream>

namespace F = torch::nn::functional;

struct Net : levin::LightningModule {
  Net()
      : layers(register_module("layers", torch::nn::Sequential(torch::nn::Linear(784, 64), torch::nn::ReLU(),
                                                               torch::nn::Linear(64, 10)))) {}

  torch::Tensor loss(const torch::Tensor& images, const torch::Tensor& labels) {
    return F::cross_entropy(layers->forward(images.flatten(1)), labels);
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    return loss(batch.input(), batch.target());
  }
  levin::OptimizerConfig configure_optimizers() override {
    return torch::optim::SGD(parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  }
  torch::nn::Sequential layers;
};

void train_by_hand(Net& net, const torch::Tensor& images, const torch::Tensor& labels) {
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  net.train();
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int64_t start = 0; start < images.size(0); start += 32) {
      const int64_t end = std::min<int64_t>(start + 32, images.size(0));
      optimizer.zero_grad();
      net.loss(images.slice(0, start, end), labels.slice(0, start, end)).backward();
      optimizer.step();
    }
  }
}

void train_by_levin(Net& net, const torch::Tensor& images, const torch::Tensor& labels) {
  const levin::data::DataLoader loader(levin::data::TensorDataset(images, labels), {.batch_size = 32});
  levin::Trainer trainer({.max_epochs = 2, .name = "example_plain_loop"});
  trainer.fit(net, loader);
}

int main() {
  torch::manual_seed(0);
  const auto images = torch::rand({1000, 1, 28, 28});
  const auto labels = torch::randint(10, {1000});

  torch::manual_seed(1);
  Net by_hand;
  train_by_hand(by_hand, images, labels);
  torch::manual_seed(1);
  Net by_levin;
  train_by_levin(by_levin, images, labels);

  bool equal = true;
  for (const auto& item : by_hand.named_parameters())
    equal = equal && torch::equal(item.value(), by_levin.named_parameters()[item.key()]);
  std::cout << (equal ? "the weights are equal to the bit\n" : "the weights differ\n");
  return equal ? 0 : 1;
}
