#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace levin::detail {

/// The result of one pass over gradients.
struct GradientPass {
  /// 2-norm of each gradient after the multiplication, [gradients], in their dtype.
  at::Tensor norms = {};
  bool finite = true;  ///< all gradients were finite before the multiplication
};

/// Returns whether all gradients are dense CPU tensors without gaps, of one dtype, float32 or float64.
bool can_pass_over(const std::vector<at::Tensor>& gradients);

/// Multiplies gradients that satisfy `can_pass_over` in place and computes their norms, reading memory once. Rounds
/// like at::_foreach_mul_ and at::_foreach_norm on x86 (eight partial sums of a float32 tensor, added in order), so
/// that results do not depend on the implementation used, nor on the number of threads.
GradientPass pass_over(const std::vector<at::Tensor>& gradients, double multiplier);

}  // namespace levin::detail
