#pragma once
#include <levin/levin.h>

#include <functional>

#include "tests/temporary_folder.h"

/// A small module for tests: trains a network, by default one that fits ToyData, by the mean squared error.
struct ToyModule : levin::LightningModule {
  explicit ToyModule(torch::nn::Sequential network) : net(register_module("net", std::move(network))) {}
  explicit ToyModule(double dropout = 0)
      : ToyModule(torch::nn::Sequential(torch::nn::Linear(4, 8), torch::nn::Tanh(), torch::nn::Dropout(dropout),
                                        torch::nn::Linear(8, 1))) {}

  torch::Tensor loss_of(const levin::Batch& batch) {
    return torch::mse_loss(net->forward(batch.input()), batch.target());
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    auto loss = loss_of(batch);
    log("train_loss", loss, {.prog_bar = true});
    return loss;
  }
  levin::OptimizerConfig configure_optimizers() override { return optimizers_of(*this); }

  /// Returns the result of configure_optimizers.
  std::function<levin::OptimizerConfig(ToyModule&)> optimizers_of = [](ToyModule& module) {
    return levin::OptimizerConfig(torch::optim::SGD(module.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)));
  };
  torch::nn::Sequential net;
};

struct ToyData {
  explicit ToyData(int64_t samples, torch::Dtype dtype = torch::kFloat) {
    torch::manual_seed(7);
    input = torch::randn({samples, 4}, dtype);
    target = input.sum(1, true).tanh() + 0.1 * torch::randn({samples, 1}, dtype);
  }
  levin::data::DataLoader loader(int64_t batch_size, bool drop_last = false) const {
    return levin::data::DataLoader(levin::data::TensorDataset(input, target),
                                   {.batch_size = batch_size, .drop_last = drop_last});
  }
  torch::Tensor input, target;
};

/// Returns options for a quiet run that writes only to `folder`.
inline levin::TrainerOptions quiet(const TemporaryFolder& folder) {
  levin::TrainerOptions options;
  options.enable_progress_bar = false;
  options.enable_model_summary = false;
  options.default_root_dir = folder.path().string();
  options.num_sanity_val_steps = 0;
  return options;
}

inline std::vector<torch::Tensor> copies(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> result;
  for (const auto& tensor : tensors) result.push_back(tensor.detach().clone());
  return result;
}

inline bool bit_equal(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!torch::equal(a[i], b[i])) return false;
  return true;
}

inline double largest_difference(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, (a[i].to(torch::kDouble) - b[i].to(torch::kDouble)).abs().max().item<double>());
  return largest;
}
