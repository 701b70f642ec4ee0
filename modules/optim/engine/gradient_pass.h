#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace levin::detail {

/// What one pass over gradients found.
struct GradientPass {
  /// 2-norms of each after the multiplication, [gradients], in their dtype.
  at::Tensor norms = {};
  bool finite = true;  ///< before the multiplication
};

/// Whether all are dense tensors of one dtype, float32 or float64, on the CPU, without gaps.
bool can_pass_over(const std::vector<at::Tensor>& gradients);

/// Multiplies gradients that can be passed over in place and takes their norms, reading memory once. Rounds as
/// at::_foreach_mul_ and at::_foreach_norm do on x86 (eight sums of a float32 tensor, added in order), so that nothing
/// depends on which of them ran; the number of threads does not matter either.
GradientPass pass_over(const std::vector<at::Tensor>& gradients, double multiplier);

}  // namespace levin::detail
