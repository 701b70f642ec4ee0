// A GAN with two optimizers under manual optimization: a generator learns to place points on a circle. The same
// training written by hand gives bitwise equal weights.
#include <levin/levin.h>

#include <iostream>
#include <numbers>

namespace F = torch::nn::functional;
namespace nn = torch::nn;

constexpr int64_t kNoise = 8;

torch::Tensor adversarial_loss(const torch::Tensor& logits, bool real) {
  return F::binary_cross_entropy_with_logits(logits, torch::full_like(logits, real ? 1.0 : 0.0));
}

struct GAN : levin::LightningModule {
  GAN()
      : generator(register_module("generator", nn::Sequential(nn::Linear(kNoise, 32), nn::ReLU(), nn::Linear(32, 2)))),
        discriminator(
            register_module("discriminator",
                            nn::Sequential(nn::Linear(2, 32), nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)),
                                           nn::Linear(32, 1)))) {
    automatic_optimization = false;
  }

  torch::Tensor generator_loss(int64_t points) {
    return adversarial_loss(discriminator->forward(generator->forward(torch::randn({points, kNoise}))), true);
  }
  torch::Tensor discriminator_loss(const torch::Tensor& real) {
    const auto fake = generator->forward(torch::randn({real.size(0), kNoise})).detach();
    const auto loss_of_real = adversarial_loss(discriminator->forward(real), true);
    return (loss_of_real + adversarial_loss(discriminator->forward(fake), false)) / 2;
  }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const auto& real = batch.input();
    train_one(optimizer(0), "g_loss", [&] { return generator_loss(real.size(0)); });
    train_one(optimizer(1), "d_loss", [&] { return discriminator_loss(real); });
    return {};
  }

  levin::OptimizerConfig configure_optimizers() override {
    return {torch::optim::Adam(generator->parameters(), torch::optim::AdamOptions(2e-3).betas({0.5, 0.999})),
            torch::optim::Adam(discriminator->parameters(), torch::optim::AdamOptions(2e-3).betas({0.5, 0.999}))};
  }

  nn::Sequential generator, discriminator;

 private:
  void train_one(levin::LightningOptimizer which, const std::string& name,
                 const std::function<torch::Tensor()>& compute) {
    toggle_optimizer(which);  // no gradients for the other network
    const auto loss = compute();
    log(name, loss, {.prog_bar = true});
    which.zero_grad();
    manual_backward(loss);
    which.step();
    untoggle_optimizer();
  }
};

torch::Tensor points_on_a_circle(int64_t count) {
  const auto angle = 2 * std::numbers::pi * torch::rand({count});
  return torch::stack({angle.cos(), angle.sin()}, 1);
}

constexpr int64_t kBatchSize = 64, kSteps = 50;

void train_by_hand(GAN& gan, const torch::Tensor& points) {
  torch::optim::Adam g(gan.generator->parameters(), torch::optim::AdamOptions(2e-3).betas({0.5, 0.999}));
  torch::optim::Adam d(gan.discriminator->parameters(), torch::optim::AdamOptions(2e-3).betas({0.5, 0.999}));
  for (int64_t step = 0; step < kSteps; ++step) {
    const auto real = points.narrow(0, step * kBatchSize, kBatchSize);
    g.zero_grad();
    gan.generator_loss(kBatchSize).backward();
    g.step();
    d.zero_grad();
    gan.discriminator_loss(real).backward();
    d.step();
  }
}

void train_by_levin(GAN& gan, const torch::Tensor& points) {
  const levin::data::DataLoader loader(levin::data::TensorDataset(points), {.batch_size = kBatchSize});
  levin::Trainer trainer({.max_epochs = 1, .name = "example_gan"});
  trainer.fit(gan, loader);
}

int main() {
  torch::manual_seed(0);
  const auto points = points_on_a_circle(kBatchSize * kSteps);
  torch::manual_seed(1);
  GAN by_hand;
  train_by_hand(by_hand, points);
  torch::manual_seed(1);
  GAN by_levin;
  train_by_levin(by_levin, points);

  bool equal = true;
  for (const auto& item : by_hand.named_parameters())
    equal = equal && torch::equal(item.value(), by_levin.named_parameters()[item.key()]);
  std::cout << (equal ? "the weights are equal to the bit\n" : "the weights differ\n");
  return equal ? 0 : 1;
}
