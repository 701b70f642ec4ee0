#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <type_traits>
#include <utility>

namespace levin {

/// The result of training_step: `return loss;`, `return {loss, weight};`, or `return {};` to skip the batch.
///
/// The loss is a scalar with a graph. The weight is the batch's weight in its gradient accumulation window and in epoch
/// means; if unset, the number of samples. A step whose loss is a mean over tokens returns the number of tokens as
/// weight.
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
