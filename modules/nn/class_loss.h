#pragma once
#include <ATen/core/Tensor.h>

#include <string>

namespace levin {

/// Computes the mean cross-entropy of logits [batch, classes, ...], or the negative log-likelihood; targets are class
/// indices or class probabilities. `advice` ("set --model.num_classes") ends the error message for a target outside the
/// classes. Throws levin::UsageError for a model with one output instead of one per class, for targets of another shape
/// or dtype, and, on the CPU, for a class index out of range.
at::Tensor cross_entropy_of(const at::Tensor& logits, const at::Tensor& target, const std::string& advice);
/// The same over the targets that are not kIgnoredTarget, which are class indices; 0 if there is none.
at::Tensor counted_cross_entropy_of(const at::Tensor& logits, const at::Tensor& target, const std::string& advice);
at::Tensor nll_of(const at::Tensor& log_probabilities, const at::Tensor& target, const std::string& advice);

}  // namespace levin
