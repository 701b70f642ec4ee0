#pragma once
#include <levin/modules/parallel/tensor/column_linear.h>
#include <levin/modules/parallel/tensor/row_linear.h>
#include <levin/modules/transformers/decoder_config.h>
#include <levin/modules/transformers/decoder_context.h>
#include <levin/modules/transformers/decoder_norm.h>
#include <torch/nn/module.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace levin::nn {

/// The causal self-attention of one layer of a decoder, in the family's parts and names. The ranks of a tensor group
/// divide the heads, those of keys and values too.
class DecoderAttention : public torch::nn::Module, public parallel::TensorParallel {
 public:
  /// `layer`: the number of the layer in `config`.
  DecoderAttention(const DecoderConfig& config, size_t layer);

  /// Maps `x` [batch, time, hidden] to the same shape. Collective over the tensor group.
  at::Tensor forward(const at::Tensor& x, const DecoderContext& context);
  /// Throws levin::UsageError if the ranks do not divide the heads, or if the family's layers cannot be divided.
  void check_division(int64_t ranks) const override;

 private:
  using Three = std::array<at::Tensor, 3>;  ///< queries, keys, values: [batch, own heads, time, head size]

  void register_parts(const DecoderConfig& config);
  Three project(const at::Tensor& x);
  Three split_fused(const at::Tensor& fused) const;
  at::Tensor heads_of(const at::Tensor& features) const;
  int64_t ranks() const;

  std::string family_;
  size_t layer_;
  LayerConfig own_;
  int64_t heads_, key_value_heads_, head_size_;
  QueryKeyNorm norm_kind_;
  FusedOrder fused_order_;
  std::optional<double> softcap_;
  double dropout_;
  parallel::ColumnLinear query_{nullptr}, key_{nullptr}, value_{nullptr}, fused_{nullptr};
  parallel::RowLinear output_{nullptr};
  DecoderNorm query_norm_{nullptr}, key_norm_{nullptr};
};

}  // namespace levin::nn
