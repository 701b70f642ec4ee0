#include <levin/lightning.h>

#include <iostream>

namespace F = torch::nn::functional;
namespace nn = torch::nn;

struct LitClassifier : levin::LightningModule {
  struct Options {
    double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
    int64_t hidden = LEVIN_OPTION(hidden, 128, "Units of the hidden layer", {.min = 1});
  };
  explicit LitClassifier(Options o)
      : options(o),
        net(register_module("net", nn::Sequential(nn::Flatten(), nn::Linear(28 * 28, o.hidden),
                                                  nn::Functional(torch::relu), nn::Linear(o.hidden, 10)))) {}

  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    auto loss = F::cross_entropy(net->forward(batch.input()), batch.target());
    log("train_loss", loss, {.prog_bar = true});
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const auto correct = net->forward(batch.input()).argmax(1) == batch.target();
    log("val_acc", correct.to(torch::kFloat).mean(), {.prog_bar = true});
  }
  levin::OptimizerConfig configure_optimizers() override {
    return {levin::optim::AdamW(parameters(), {.lr = options.lr}), levin::StepLR({.step_size = 10})};
  }
  Options options;
  nn::Sequential net;
};

int main(int argc, char** argv) {
  auto model = levin::make_module<LitClassifier>(LitClassifier::Options{.lr = 3e-3});
  levin::data::MNIST data({.root = argc > 1 ? argv[1] : "mnist", .batch_size = 64});
  levin::Trainer trainer({.max_epochs = 5, .accumulate_grad_batches = 4});
  levin::RunResult result = trainer.fit(*model, data);  // status, epochs, global_step, metrics, run folder
  std::cout << "val_acc " << result.metrics.at("val_acc") << ", run folder " << result.folder << "\n";
}
