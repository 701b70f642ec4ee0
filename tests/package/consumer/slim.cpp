// The module of the README with the slim header alone.
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

int main() {
  levin::seed_everything(1);
  auto model = levin::make_module<LitClassifier>(LitClassifier::Options{.lr = 3e-3, .hidden = 16});
  const auto images = torch::rand({16, 1, 28, 28});
  levin::data::DataLoader loader(levin::data::TensorDataset(images, torch::arange(16) % 10), {.batch_size = 8});
  levin::TrainerOptions options;
  options.fast_dev_run = true;
  options.enable_progress_bar = options.enable_model_summary = false;
  levin::Trainer trainer(options);
  const levin::RunResult result = trainer.fit(*model, loader, loader);
  std::cout << "loss " << result.metrics.at("train_loss") << "\n";
  return result.global_step == 1 ? 0 : 1;
}
