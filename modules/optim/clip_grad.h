#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace levin::optim {

/// Scales the gradients of `parameters` so that their total norm is at most `max_norm`, and returns the norm before
/// clipping (one element). The 2-norm on the CPU takes one pass over memory, and a second if gradients are scaled;
/// other norms and devices use LibTorch. Parameters without a gradient are skipped. Throws levin::UsageError, without
/// scaling, if `error_if_nonfinite` is set and the norm is infinite or NaN. Source:
/// https://pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
at::Tensor clip_grad_norm_(const std::vector<at::Tensor>& parameters, double max_norm, double norm_type = 2.0,
                           bool error_if_nonfinite = false);

/// Clamps each element of the gradients to [-clip_value, clip_value].
/// Source: https://pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_value_.html
void clip_grad_value_(const std::vector<at::Tensor>& parameters, double clip_value);

}  // namespace levin::optim
