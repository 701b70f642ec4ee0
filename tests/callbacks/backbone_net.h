#pragma once
#include "tests/small_modules.h"

/// A network with a submodule `backbone`, which has a batch norm, and a head, for ToyData.
struct BackboneNet : levin::LightningModule {
  /// `head_only_`: the optimizer has the head's parameters alone. `gamma_`: the rate's factor in each epoch.
  explicit BackboneNet(bool head_only_ = false, double gamma_ = 1) : head_only(head_only_), gamma(gamma_) {}

  torch::Tensor loss_of(const levin::Batch& batch) {
    return torch::mse_loss(head(backbone->forward(batch.input())), batch.target());
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override { return loss_of(batch); }
  void validation_step(const levin::Batch& batch, int64_t) override { log("val_loss", loss_of(batch)); }
  levin::OptimizerConfig configure_optimizers() override {
    levin::optim::SGD optimizer(head_only ? head->parameters() : parameters(), {.lr = 0.05, .momentum = 0.9});
    if (gamma == 1) return optimizer;
    return {std::move(optimizer), levin::StepLR({.step_size = 1, .gamma = gamma})};
  }

  bool head_only;
  double gamma;
  torch::nn::Sequential backbone = register_module(
      "backbone",
      torch::nn::Sequential(torch::nn::Linear(4, 8), torch::nn::BatchNorm1d(8), torch::nn::Functional(torch::tanh)));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(8, 1));
};
