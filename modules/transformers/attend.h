#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/parallel/tensor/tensor_parallel.h>
#include <levin/modules/transformers/attention_mask.h>

#include <optional>

namespace levin::nn {

struct AttendOptions {
  double scale = 1;                       ///< multiplies the products of queries and keys
  double dropout = 0;                     ///< rate of the weights that become zero; 0 in evaluation
  std::optional<double> softcap = {};     ///< products become tanh(product / softcap) * softcap
  parallel::TensorGroup group = nullptr;  ///< the ranks that divide the heads; null: this one has all
};

/// Scaled dot-product attention of `queries` [batch, own heads, time, head size] to `keys` and `values` [batch, own
/// heads or a divisor, all, head size]; returns the shape of `queries`. The dropout of divided heads is that which one
/// process draws for all of them, and the generators of the ranks stay the same.
/// Source: Vaswani et al. 2017, "Attention Is All You Need".
at::Tensor attend(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                  const AttentionMask& mask, const AttendOptions& options);

}  // namespace levin::nn
