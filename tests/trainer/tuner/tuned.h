#pragma once
#include <levin/levin.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/small_modules.h"

/// A module with all kinds of state that a trial must not change: dropout, BatchNorm's buffers, registered and
/// unregistered metrics, and a count that is saved in checkpoints.
struct Tuned : ToyModule {
  Tuned()
      : ToyModule(torch::nn::Sequential(torch::nn::Linear(4, 8), torch::nn::BatchNorm1d(8), torch::nn::Dropout(0.3),
                                        torch::nn::Linear(8, 1))) {
    register_metric("registered", registered);
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    ++batches_seen;
    const auto output = net->forward(batch.input());
    registered.update(output.detach(), batch.target());
    mean.update(output.detach(), batch.target());
    log("registered", registered, {.on_step = false, .on_epoch = true});
    log("mean", mean, {.on_step = false, .on_epoch = true});
    return torch::mse_loss(output, batch.target());
  }
  void validation_step(const levin::Batch& batch, int64_t) override { log("val_loss", loss_of(batch)); }
  levin::OptimizerConfig configure_optimizers() override {
    return {levin::optim::SGD(parameters(), {.lr = 0.05, .momentum = 0.9}), levin::StepLR({.step_size = 1})};
  }
  void on_save_checkpoint(levin::Run&, levin::State& state) override { state["batches_seen"] = batches_seen; }
  void on_load_checkpoint(levin::Run&, const levin::State& state) override {
    batches_seen = state.at("batches_seen").to_int();
  }

  levin::metrics::MeanSquaredError registered, mean;
  int64_t batches_seen = 0;
};

/// Shuffled data whose batch size can be changed.
struct TunedData : levin::data::DataModule {
  explicit TunedData(int64_t samples = 64, int64_t batch_size = 8) : toy(samples), size(batch_size) {}
  levin::data::Loaders train_dataloader() override {
    ++loaders_made;
    return levin::data::DataLoader(levin::data::TensorDataset(toy.input, toy.target),
                                   {.batch_size = size, .shuffle = true, .drop_last = drop_last});
  }
  levin::data::Loaders val_dataloader() override { return toy.loader(size); }
  std::optional<int64_t> batch_size() const override { return size; }
  void set_batch_size(int64_t batch_size) override { size = batch_size; }

  ToyData toy;
  int64_t size, loaders_made = 0;
  bool drop_last = false;
};

inline double metric(const levin::RunResult& result, const std::string& name) {
  for (const auto& [found, value] : result.metrics)
    if (found == name) return value;
  throw std::runtime_error("no metric " + name);
}

/// Returns copies of parameters and buffers, and the module's count.
inline std::vector<torch::Tensor> state_tensors(const Tuned& module) {
  auto all = copies(module.parameters());
  for (const auto& buffer : module.buffers()) all.push_back(buffer.detach().clone());
  all.push_back(torch::tensor(module.batches_seen));
  return all;
}
