#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

namespace levin::adapters {

/// The tensors of an adapted layer. All have the dtype of the layer's input.
struct LowRankTensors {
  at::Tensor weight = {};  ///< the frozen weight, [out, in]
  std::optional<at::Tensor> bias = {};
  at::Tensor a = {}, b = {};  ///< the factors, [rank, in] and [out, rank]
  double scale = 1;
};

/// Returns whether low_rank_product computes this for `input`: not if base or bias are trained, under autocast, and
/// while operators are recorded, which shows no backward of its own.
bool can_take_product(const at::Tensor& input, const LowRankTensors& tensors);

/// Returns x W^T + bias + scale (x A^T) B^T of `input` [..., in]: [..., out]. The low-rank parts are added where the
/// large products are, forward and backward, so that no other tensor of their size is made.
at::Tensor low_rank_product(const at::Tensor& input, const LowRankTensors& tensors);

}  // namespace levin::adapters
