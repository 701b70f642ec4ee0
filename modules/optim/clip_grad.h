#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace levin::optim {

/// Scales the gradients of `parameters` so that their norm is at most `max_norm`, and returns the norm before, one
/// element. For the 2-norm on the CPU one pass over memory, and another where something is to be scaled; other norms,
/// and other devices, by LibTorch. Parameters without a gradient are passed over. Throws levin::UsageError where
/// `error_if_nonfinite` and the norm is infinite or NaN; nothing is scaled then. Source:
/// https://pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
at::Tensor clip_grad_norm_(const std::vector<at::Tensor>& parameters, double max_norm, double norm_type = 2.0,
                           bool error_if_nonfinite = false);

/// Clamps each element of the gradients to [-clip_value, clip_value].
/// Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_value_.html
void clip_grad_value_(const std::vector<at::Tensor>& parameters, double clip_value);

}  // namespace levin::optim
