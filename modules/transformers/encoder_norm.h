#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

namespace levin::nn {

/// A layer norm over the last dimension, with or without a bias: `weight` [size], `bias` [size] or undefined. The
/// weights are ones and the bias zeros until they are loaded.
class EncoderNormImpl : public torch::nn::Module {
 public:
  EncoderNormImpl(int64_t size, double eps, bool has_bias);

  /// Maps `x` [..., size] to the same shape and dtype.
  at::Tensor forward(const at::Tensor& x);

  at::Tensor weight = {}, bias = {};

 private:
  double eps_;
};
TORCH_MODULE(EncoderNorm);

}  // namespace levin::nn
