#pragma once
#include <levin/modules/optim/registry.h>
#include <torch/types.h>

#include <nlohmann/json.hpp>
#include <vector>

/// The training that python_reference.py also runs: a network of two layers, in float64 by default.
namespace small_training {

inline at::Tensor fill(std::vector<int64_t> shape, at::ScalarType dtype = at::kDouble) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return torch::arange(count, dtype).mul(0.37).sin().reshape(shape);
}

inline std::vector<at::Tensor> parameters(at::ScalarType dtype = at::kDouble) {
  return {fill({3, 4}, dtype).requires_grad_(), fill({4}, dtype).requires_grad_(),
          fill({4, 2}, dtype).requires_grad_()};
}

inline at::Tensor loss_of(const std::vector<at::Tensor>& p) {
  const at::ScalarType dtype = p[0].scalar_type();
  return (fill({8, 3}, dtype).matmul(p[0]).add(p[1]).tanh().matmul(p[2]) - fill({8, 2}, dtype)).square().mean();
}

inline void train(torch::optim::Optimizer& optimizer, const std::vector<at::Tensor>& p, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    loss_of(p).backward();
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

/// Returns the largest difference of two elements.
inline double distance(const at::Tensor& a, const at::Tensor& b) { return a.sub(b).abs().max().item<double>(); }

struct Options {
  levin::ClassChoice<levin::optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {}, "Optimizer");
};

/// Makes the optimizer in `json`, as from a config.
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
    {"class": "Adagrad", "lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.02, "initial_accumulator_value": 0.1},
    {"class": "SGD", "lr": 0.001, "maximize": true, "momentum": 0.5},
    {"class": "Adam", "maximize": true, "weight_decay": 0.1, "decoupled_weight_decay": true},
    {"class": "RMSprop", "lr": 0.005, "centered": true},
    {"class": "RMSprop", "lr": 0.005, "momentum": 0.5, "maximize": true},
    {"class": "Adamax", "lr": 0.01},
    {"class": "Adamax", "lr": 0.01, "betas": [0.7, 0.9], "eps": 1e-6, "weight_decay": 0.05, "maximize": true},
    {"class": "NAdam"},
    {"class": "NAdam", "lr": 0.01, "weight_decay": 0.1, "momentum_decay": 0.01, "maximize": true},
    {"class": "NAdam", "lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": true},
    {"class": "RAdam", "lr": 0.01},
    {"class": "RAdam", "lr": 0.01, "betas": [0.8, 0.9], "weight_decay": 0.1, "maximize": true},
    {"class": "RAdam", "lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": true},
    {"class": "Adadelta"},
    {"class": "Adadelta", "lr": 0.5, "rho": 0.8, "eps": 1e-5, "weight_decay": 0.01},
    {"class": "Rprop", "lr": 0.001},
    {"class": "Rprop", "lr": 0.01, "etas": [0.4, 1.3], "step_sizes": [1e-4, 0.1], "maximize": true},
    {"class": "ASGD", "lr": 0.05},
    {"class": "ASGD", "lr": 0.05, "lambd": 0.001, "alpha": 0.6, "t0": 10, "weight_decay": 0.01},
    {"class": "Adafactor"},
    {"class": "Adafactor", "lr": 0.1, "beta2_decay": -0.6, "d": 2, "weight_decay": 0.1, "maximize": true},
    {"class": "Lion", "lr": 0.002},
    {"class": "Lion", "lr": 0.002, "betas": [0.8, 0.95], "weight_decay": 0.1, "maximize": true},
    {"class": "LAMB", "lr": 0.01},
    {"class": "LAMB", "lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-5, "weight_decay": 0.1, "maximize": true},
    {"class": "LARS", "lr": 1, "trust_coefficient": 0.02},
    {"class": "LARS", "lr": 0.2, "momentum": 0.5, "weight_decay": 0.01, "trust_coefficient": 0.02, "nesterov": true}
  ])");
  return cases;
}

}  // namespace small_training
