#pragma once
#include <levin/levin.h>
#include <levin/modules/adapters/low_rank_adapter.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/small_modules.h"
#include "tests/temporary_folder.h"

/// A linear layer with an adapter that is written out.
struct HandLinearImpl : torch::nn::Module {
  HandLinearImpl(torch::nn::Linear base, double scale_) : linear(std::move(base)), scale(scale_) {
    register_module("linear", linear);
    for (auto& parameter : linear->parameters()) parameter.set_requires_grad(false);
    a = register_parameter("a", torch::zeros({2, linear->weight.size(1)}));
    b = register_parameter("b", torch::zeros({linear->weight.size(0), 2}));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const auto output = linear->forward(x);
    return at::addmm(output, at::linear(x, a), b.t(), 1, scale);
  }
  torch::nn::Linear linear;
  double scale;
  torch::Tensor a, b;
};
TORCH_MODULE(HandLinear);

inline torch::nn::Sequential small_net() {
  torch::manual_seed(3);
  return torch::nn::Sequential(torch::nn::Linear(4, 8), torch::nn::Tanh(), torch::nn::Linear(8, 1));
}

inline torch::nn::LinearImpl& linear(torch::nn::Sequential& net, size_t i) {
  return *net->ptr<torch::nn::LinearImpl>(i);
}

inline std::vector<torch::Tensor> trained(const torch::nn::Module& module) {
  std::vector<torch::Tensor> result;
  for (const auto& parameter : module.parameters())
    if (parameter.requires_grad()) result.push_back(parameter.detach().clone());
  return result;
}

/// Gives the factors B of a network other values than zeros.
inline void draw_outputs(const torch::nn::Module& net) {
  torch::NoGradGuard no_grad;
  for (const auto& layer : levin::adapted_layers(net)) layer.adapter->output->weight.normal_();
}

/// The network with adapters, and the one that has them by hand, with equal values.
struct Pair {
  explicit Pair(levin::LoRAOptions options = {.rank = 2, .alpha = 3}) {
    auto net = small_net(), other = small_net();
    adapted = std::make_shared<ToyModule>(net);
    CHECK(levin::add_lora(*adapted, options) == std::vector<std::string>{"net.0", "net.2"});
    const double scale = options.alpha / 2;
    HandLinear first(other->ptr<torch::nn::LinearImpl>(0), scale), last(other->ptr<torch::nn::LinearImpl>(2), scale);
    torch::NoGradGuard no_grad;
    const auto layers = levin::adapted_layers(*adapted);
    first->a.copy_(layers[0].adapter->weight);
    last->a.copy_(layers[1].adapter->weight);
    by_hand = std::make_shared<ToyModule>(torch::nn::Sequential(first, torch::nn::Tanh(), last));
  }
  std::shared_ptr<ToyModule> adapted, by_hand;
};

inline void fit(const std::shared_ptr<ToyModule>& module, const levin::TrainerOptions& options,
                const std::string& ckpt_path = "") {
  torch::manual_seed(11);
  levin::Trainer(options).fit(*module, ToyData(24).loader(4), {}, ckpt_path);
}
