#pragma once
#include <levin/modules/parallel/tensor/tensor_parallel.h>
#include <levin/modules/transformers/decoder_config.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

namespace levin::nn {

/// The norm of a decoder, over the last dimension: see NormKind. `weight` [size], and of Layer also `bias` [size];
/// their values are those of a norm that changes nothing. Values of 16 bit are normalized in float32.
class DecoderNormImpl : public torch::nn::Module {
 public:
  DecoderNormImpl(NormKind kind, int64_t size, double eps);

  /// Maps `x` [..., size] to the same shape and dtype. With a group, each rank gives other vectors to the same norm, so
  /// backward adds the gradients of the ranks; then all ranks of the group call backward.
  at::Tensor forward(const at::Tensor& x, const parallel::TensorGroup& group = nullptr);

  at::Tensor weight = {}, bias = {};

 private:
  NormKind kind_;
  int64_t size_;
  double eps_;
};
TORCH_MODULE(DecoderNorm);

}  // namespace levin::nn
