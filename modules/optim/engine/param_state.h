#pragma once
#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace levin::optim {

/// Python's names of the values of a parameter's state, besides `step`.
struct StateNames {
  std::vector<const char*> tensors = {};
  std::vector<const char*> numbers = {};
  bool has_step = true;
};

/// The state of one parameter in levin's optimizers; StateNames names its entries.
struct ParamState final : torch::optim::OptimizerParamState {
  int64_t step = 0;
  /// Tensors of the parameter's shape unless the optimizer documents otherwise; undefined if the options do not need
  /// the tensor.
  std::vector<at::Tensor> tensors = {};
  std::vector<double> numbers = {};

  std::unique_ptr<torch::optim::OptimizerParamState> clone() const override {
    return std::make_unique<ParamState>(*this);
  }
};

/// Rounds a number like Python's state: to 32 bits, or 64 for a float64 parameter.
inline double state_number(double value, const at::Tensor& parameter) {
  return parameter.scalar_type() == at::kDouble ? value : static_cast<double>(static_cast<float>(value));
}

}  // namespace levin::optim
