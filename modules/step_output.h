#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <type_traits>
#include <utility>

namespace levin {

/// What training_step returns: `return loss;`, `return {loss, weight};`, or `return {};` to skip the batch.
///
/// The loss is a scalar with a graph. The weight says how much the batch counts in its window and in epoch means;
/// unset it is the number of samples. A step that returns a mean over tokens returns the number of tokens.
struct StepOutput {
  StepOutput() = default;
  StepOutput(at::Tensor loss_) : loss(std::move(loss_)) {}
  /// `weight_`: one element, on any device.
  StepOutput(at::Tensor loss_, at::Tensor weight_) : loss(std::move(loss_)), weight_tensor(std::move(weight_)) {}
  template <class W>
    requires std::is_arithmetic_v<W>
  StepOutput(at::Tensor loss_, W weight_) : loss(std::move(loss_)), weight(static_cast<double>(weight_)) {}

  at::Tensor loss = {};
  std::optional<double> weight = {};
  at::Tensor weight_tensor = {};
};

}  // namespace levin
