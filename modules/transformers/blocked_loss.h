#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace levin::nn {

/// The last layer of a network, and the loss of what it computes.
struct LossHead {
  /// Maps hidden states [rows, hidden] to the layer's output [rows, classes].
  std::function<at::Tensor(const at::Tensor& hidden)> layer = {};
  /// Returns the sum of the losses of an output [rows, classes] and its targets [rows].
  std::function<at::Tensor(const at::Tensor& output, const at::Tensor& target)> loss = {};
  std::vector<at::Tensor> parameters = {};  ///< all that `layer` uses
  /// Whether `layer` is at::linear of a weight and perhaps a bias, which are then all of `parameters`, in this order.
  bool is_linear = false;
};

/// Calls `work` for each block of at most `size` of `rows` rows, in their order; without rows, for an empty one.
void for_blocks(int64_t rows, int64_t size, c10::function_ref<void(int64_t begin, int64_t count)> work);

/// Returns head.loss(head.layer(hidden), target), one element, of `hidden` [rows, hidden], at least one row, and
/// `target` [rows], with the outputs of `block_size` rows in memory at a time. Forward also computes their gradients,
/// because it has the outputs of the block: the layer is computed once, and backward takes the gradients of `hidden`
/// and of the parameters that forward kept. Gradients of 16 bits are summed over the blocks in float32. Dropout in the
/// layer draws for each block.
///
/// Throws levin::UsageError in a second backward of the same loss, and in one that is itself differentiated.
/// Source: Hsu et al. 2024, "Liger Kernel: Efficient Triton Kernels for LLM Training", section 3.2.
at::Tensor blocked_loss(const at::Tensor& hidden, const at::Tensor& target, const LossHead& head, int64_t block_size);

}  // namespace levin::nn
