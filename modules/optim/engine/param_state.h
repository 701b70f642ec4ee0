#pragma once
#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace levin::optim {

/// What Python calls the values of a parameter's state, besides `step`.
struct StateNames {
  std::vector<const char*> tensors = {};
  std::vector<const char*> numbers = {};
  bool has_step = true;
};

/// The state of one parameter in levin's optimizers; StateNames says what stands where.
struct ParamState final : torch::optim::OptimizerParamState {
  int64_t step = 0;
  /// Of the parameter's shape unless the optimizer says otherwise; undefined where the options leave one out.
  std::vector<at::Tensor> tensors = {};
  std::vector<double> numbers = {};

  std::unique_ptr<torch::optim::OptimizerParamState> clone() const override {
    return std::make_unique<ParamState>(*this);
  }
};

/// As Python keeps numbers of a state: in 32 bit, and in 64 for a parameter of 64.
inline double state_number(double value, const at::Tensor& parameter) {
  return parameter.scalar_type() == at::kDouble ? value : static_cast<double>(static_cast<float>(value));
}

}  // namespace levin::optim
