#pragma once
#include <levin/modules/transformers/causal_lm.h>

#include "tests/gpu/training.h"
#include "tests/modules/transformers/small_folder.h"

// A GPT-2 of random weights, and its training on random tokens.

constexpr int64_t kTokenTime = 16;

inline levin::data::DataLoader token_loader(int64_t samples, int64_t batch_size) {
  torch::manual_seed(5);
  const torch::Tensor tokens = torch::randint(13, {samples, kTokenTime}, torch::kLong);
  return levin::data::DataLoader(levin::data::TensorDataset(tokens, tokens.roll(-1, 1)), {.batch_size = batch_size});
}

/// Trains the model of a folder in a whole run; returns its weights.
inline std::vector<torch::Tensor> train_language_model(const levin::TrainerOptions& options, const SmallFolder& folder,
                                                       const levin::data::Loaders& loader, int64_t block_size) {
  levin::nn::CausalLM model({.folder = folder.path(),
                             .optimizer = {"SGD", levin::optim::SGDOptions{.lr = 0.05}},
                             .cross_entropy_block_size = block_size});
  levin::Trainer(options).fit(model, loader);
  return weights_on_cpu(model);
}
