#pragma once
#include <levin/lightning.h>

/// Predicts how a state [samples, 2] changes.
class Predictor : public levin::LightningModule {
 public:
  struct Options {
    int64_t hidden = LEVIN_OPTION(hidden, 32, "Units of the hidden layer", {.min = 1});
    double lr = LEVIN_OPTION(lr, 3e-3, "Learning rate", {.min = 0});
  };
  explicit Predictor(Options given) : options(given) {
    namespace nn = torch::nn;
    net = register_module("net", nn::Sequential(nn::Linear(2, options.hidden), nn::Functional(torch::tanh),
                                                nn::Linear(options.hidden, 2)));
    save_hyperparameters(options);
  }

  torch::Tensor forward(const torch::Tensor& state) { return state + net->forward(state); }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    return torch::mse_loss(forward(batch.input()), batch.target());
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::Adam(parameters(), {.lr = options.lr});
  }

  Options options;
  torch::nn::Sequential net = {};
};
