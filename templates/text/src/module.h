#pragma once
#include <levin/lightning.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/rnn.h>

#include <string>

/// Predicts the next byte: `input` and `target` int64 [samples, time], the target one byte later.
class ByteModel : public levin::LightningModule {
 public:
  struct Options {
    int64_t hidden = LEVIN_OPTION(hidden, 96, "Units of the GRU, and numbers that stand for a byte", {.min = 1});
    double lr = LEVIN_OPTION(lr, 5e-3, "Learning rate", {.min = 0});
  };
  explicit ByteModel(Options given)
      : options(given),
        embedding(register_module("embedding", torch::nn::Embedding(256, given.hidden))),
        gru(register_module("gru",
                            torch::nn::GRU(torch::nn::GRUOptions(given.hidden, given.hidden).batch_first(true)))),
        head(register_module("head", torch::nn::Linear(given.hidden, 256))) {
    save_hyperparameters(options);
  }

  /// Returns the logits [samples, time, 256] of the byte after each.
  torch::Tensor forward(const torch::Tensor& bytes) {
    return head->forward(std::get<0>(gru->forward(embedding->forward(bytes))));
  }

  /// Returns `text`, which must not be empty, followed by `count` bytes, each the most likely one after those before
  /// it.
  std::string continue_text(std::string text, int64_t count) {
    const torch::NoGradGuard no_grad;
    const bool was_training = is_training();
    eval();
    for (int64_t i = 0; i < count; ++i) {
      torch::Tensor bytes = torch::empty({1, static_cast<int64_t>(text.size())}, torch::kLong);
      int64_t* out = bytes.mutable_data_ptr<int64_t>();
      for (const char byte : text) *out++ = static_cast<unsigned char>(byte);
      const torch::Tensor logits = forward(bytes.to(head->weight.device())).select(1, -1);
      text += static_cast<char>(logits.argmax(1).item<int64_t>());
    }
    train(was_training);
    return text;
  }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const torch::Tensor value = loss(batch);
    log("train_loss", value, {.prog_bar = true});
    return value;
  }
  void validation_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    log("val_loss", loss(batch), {.prog_bar = true});
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::AdamW(parameters(), {.lr = options.lr});
  }

  Options options;
  torch::nn::Embedding embedding;
  torch::nn::GRU gru;
  torch::nn::Linear head;

 private:
  /// Returns the mean cross-entropy of a byte, in nats.
  torch::Tensor loss(const levin::Batch& batch) {
    return torch::nn::functional::cross_entropy(forward(batch.input()).flatten(0, 1), batch.target().flatten());
  }
};
