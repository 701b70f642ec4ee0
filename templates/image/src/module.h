#pragma once
#include <levin/lightning.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/pooling.h>

/// Classifies pictures [samples, 3, height, width] of any size from 4x4 on.
class PictureClassifier : public levin::LightningModule {
 public:
  struct Options {
    int64_t channels = LEVIN_OPTION(channels, 16, "Channels of the first convolution", {.min = 1});
    int64_t num_classes = LEVIN_OPTION(num_classes, 3, "Number of classes", {.min = 2});
    double lr = LEVIN_OPTION(lr, 3e-3, "Learning rate", {.min = 0});
  };
  explicit PictureClassifier(Options given) : options(given) {
    namespace nn = torch::nn;
    const int64_t width = options.channels;
    net = register_module(
        "net", nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, width, 3).padding(1)), nn::Functional(torch::relu),
                              nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(width, 2 * width, 3).padding(1)),
                              nn::Functional(torch::relu), nn::AdaptiveMaxPool2d(1), nn::Flatten(),
                              nn::Linear(2 * width, options.num_classes)));
    save_hyperparameters(options);
  }

  torch::Tensor forward(const torch::Tensor& pictures) { return net->forward(pictures); }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const torch::Tensor loss = torch::nn::functional::cross_entropy(forward(batch.input()), batch.target());
    log("train_loss", loss, {.prog_bar = true});
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const torch::Tensor logits = forward(batch.input());
    log("val_loss", torch::nn::functional::cross_entropy(logits, batch.target()));
    log("val_acc", logits.argmax(1).eq(batch.target()).to(torch::kFloat).mean(), {.prog_bar = true});
  }
  levin::Batch predict_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    return levin::Batch(forward(batch.input()).softmax(1));
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::AdamW(parameters(), {.lr = options.lr});
  }

  Options options;
  torch::nn::Sequential net = {};
};
