#pragma once
#include <levin/modules/optim/registry.h>
#include <torch/types.h>

#include <nlohmann/json.hpp>
#include <vector>

/// The training that python_reference.py does too: a network of two layers, in float64.
namespace small_training {

inline at::Tensor fill(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return torch::arange(count, torch::kDouble).mul(0.37).sin().reshape(shape);
}

inline std::vector<at::Tensor> parameters() {
  return {fill({3, 4}).requires_grad_(), fill({4}).requires_grad_(), fill({4, 2}).requires_grad_()};
}

inline void train(torch::optim::Optimizer& optimizer, const std::vector<at::Tensor>& p, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    (fill({8, 3}).matmul(p[0]).add(p[1]).tanh().matmul(p[2]) - fill({8, 2})).square().mean().backward();
    optimizer.step();
  }
}

inline at::Tensor flat(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> rows;
  for (const at::Tensor& tensor : tensors) rows.push_back(tensor.detach().flatten());
  return torch::cat(rows).clone();
}

inline at::Tensor flat(const nlohmann::ordered_json& values) {
  return torch::tensor(values.get<std::vector<double>>(), torch::kDouble);
}

/// The largest difference of two elements.
inline double distance(const at::Tensor& a, const at::Tensor& b) { return a.sub(b).abs().max().item<double>(); }

struct Options {
  levin::Part<levin::optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {}, "Optimizer");
};

/// The optimizer that `json` names, as from a config.
inline std::unique_ptr<torch::optim::Optimizer> make(const nlohmann::ordered_json& json,
                                                     std::vector<at::Tensor> parameters) {
  Options options;
  levin::schema_of<Options>().set(&options, "", {{"optimizer", json}});
  return levin::optim::make_optimizer(options.optimizer, "optimizer", std::move(parameters));
}

inline const nlohmann::ordered_json& optimizer_cases() {
  static const auto cases = nlohmann::ordered_json::parse(R"([
    {"class": "SGD", "lr": 0.1},
    {"class": "SGD", "lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01},
    {"class": "SGD", "lr": 0.05, "momentum": 0.8, "nesterov": true},
    {"class": "Adam"},
    {"class": "Adam", "lr": 0.01, "betas": [0.8, 0.99], "eps": 1e-7, "weight_decay": 0.1, "amsgrad": true},
    {"class": "AdamW", "lr": 0.02},
    {"class": "AdamW", "lr": 0.02, "weight_decay": 0.2, "amsgrad": true},
    {"class": "RMSprop"},
    {"class": "RMSprop", "lr": 0.005, "alpha": 0.9, "momentum": 0.5, "centered": true, "weight_decay": 0.01},
    {"class": "Adagrad"},
    {"class": "Adagrad", "lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.02, "initial_accumulator_value": 0.1}
  ])");
  return cases;
}

}  // namespace small_training
