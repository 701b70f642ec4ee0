#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace levin {

/// Returns the names of losses that compare an output with a target: "cross_entropy", "mse_loss" and others.
std::vector<std::string> named_losses();

/// Returns the loss that "auto" selects for these tensors: cross_entropy for classes, mse_loss for single numbers.
/// Throws levin::UsageError if the tensors leave it open.
std::string loss_for(const at::Tensor& output, const at::Tensor& target);

/// Computes the mean of a loss by its name. Throws levin::UsageError if the tensors do not fit it.
at::Tensor loss_by_name(const std::string& name, const at::Tensor& output, const at::Tensor& target);

/// Returns whether the loss compares numbers for each class with a class, so that there is an accuracy.
bool compares_classes(const std::string& loss);

}  // namespace levin
