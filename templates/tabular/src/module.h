#pragma once
#include <levin/lightning.h>

/// Predicts a number, `target` [samples], from `input` [samples, features].
class NumberPredictor : public levin::LightningModule {
 public:
  struct Options {
    int64_t features = LEVIN_OPTION(features, 4, "Columns of numbers", {.min = 1});
    int64_t hidden = LEVIN_OPTION(hidden, 32, "Units of each of the two hidden layers", {.min = 1});
    double lr = LEVIN_OPTION(lr, 1e-2, "Learning rate", {.min = 0});
  };
  explicit NumberPredictor(Options given) : options(given) {
    namespace nn = torch::nn;
    const int64_t units = options.hidden;
    net = register_module("net",
                          nn::Sequential(nn::Linear(options.features, units), nn::Functional(torch::relu),
                                         nn::Linear(units, units), nn::Functional(torch::relu), nn::Linear(units, 1)));
    save_hyperparameters(options);
  }

  /// Returns [samples].
  torch::Tensor forward(const torch::Tensor& rows) { return net->forward(rows).squeeze(1); }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const torch::Tensor loss = torch::mse_loss(forward(batch.input()), batch.target());
    log("train_loss", loss, {.prog_bar = true});
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const torch::Tensor error = forward(batch.input()) - batch.target();
    log("val_loss", error.square().mean());
    log("val_mae", error.abs().mean(), {.prog_bar = true});
  }
  levin::Batch predict_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    return levin::Batch(forward(batch.input()));
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::AdamW(parameters(), {.lr = options.lr});
  }

  Options options;
  torch::nn::Sequential net = {};
};
