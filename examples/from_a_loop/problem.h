#pragma once
// What the loop and levin share: the network, the data, and the factor of the learning rate. Nothing of levin is in it.
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

struct NetImpl : torch::nn::Module {
  NetImpl()
      : layers(register_module("layers", torch::nn::Sequential(torch::nn::Linear(16, 64), torch::nn::ReLU(),
                                                               torch::nn::Dropout(0.1), torch::nn::Linear(64, 3)))) {}
  torch::Tensor forward(const torch::Tensor& x) { return layers->forward(x); }
  torch::nn::Sequential layers;
};
TORCH_MODULE(Net);

struct Split {
  torch::Tensor x;  ///< [samples, 16], float32
  torch::Tensor y;  ///< [samples], int64: the class
};

/// Three classes of points; always the same, and drawn without LibTorch's default generator.
inline Split make_split(int64_t samples, uint64_t seed) {
  auto random = torch::make_generator<torch::CPUGeneratorImpl>(seed);
  auto centers = torch::randn({3, 16}, torch::make_generator<torch::CPUGeneratorImpl>(uint64_t{7}));
  auto y = torch::randint(3, {samples}, random, torch::kLong);
  return {centers.index_select(0, y) + 1.5 * torch::randn({samples, 16}, random), y};
}

/// The order of an epoch's samples depends on the epoch alone, so that a resumed run finds it again.
inline torch::Tensor order_of_epoch(int64_t samples, int64_t epoch) {
  return torch::randperm(samples, torch::make_generator<torch::CPUGeneratorImpl>(static_cast<uint64_t>(epoch)),
                         torch::kLong);
}

/// The factor of the learning rate: up on a line, then down along half a cosine.
inline double lr_factor(int64_t step, int64_t warmup, int64_t total) {
  if (step < warmup) return double(step + 1) / double(warmup);
  const double done = std::min(1.0, double(step - warmup) / double(total - warmup));
  return 0.5 * (1 + std::cos(std::numbers::pi * done));
}
