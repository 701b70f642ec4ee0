#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/transformers/activation.h>

#include <cstdint>
#include <optional>

// What a decoder computes between its matrix products, each in one pass over memory forward and one backward, where
// ATen has several operators for it. They are for float32 on the CPU (`can_fuse`); derivatives of higher order are
// those of ATen's operators. Weights may be divided by fsdp.
namespace levin::nn::fused {

/// Returns whether the functions below take `x`. They do not while operators are recorded, which shows no backward of
/// theirs, and under autocast.
bool can_fuse(const at::Tensor& x);

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension: x [..., size], weight [size].
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

/// x [batch, heads, time, size] with its first dims turned by angles [batch or 1, 1, time, dims], of which both halves
/// are equal. The result's memory is [batch, time, heads, size].
at::Tensor rotated(const at::Tensor& x, const at::Tensor& cosines, const at::Tensor& sines);

/// activation(x) * up, of the same sizes; none for an activation that is not fused.
std::optional<at::Tensor> gated(const at::Tensor& x, const at::Tensor& up, Activation activation);

/// The sum of the cross entropies of logits [rows, classes] and targets [rows] of int64, but for those that are
/// `ignored`. Throws levin::UsageError for another target that is no class.
at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& targets, int64_t ignored);

}  // namespace levin::nn::fused
