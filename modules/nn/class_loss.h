#pragma once
#include <ATen/core/Tensor.h>

#include <string>

namespace levin {

/// The mean cross-entropy of logits [batch, classes, ...], or the negative log-likelihood, with classes as target, or
/// with a probability for each. `advice` follows where a target is beyond the classes: "set --model.num_classes", say.
/// Throws levin::UsageError for a model that makes one number in place of one for each class, for targets of another
/// shape or dtype, and, on the CPU, for a class that the model does not have.
at::Tensor cross_entropy_of(const at::Tensor& logits, const at::Tensor& target, const std::string& advice);
at::Tensor nll_of(const at::Tensor& log_probabilities, const at::Tensor& target, const std::string& advice);

}  // namespace levin
