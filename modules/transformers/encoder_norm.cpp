#include <levin/modules/transformers/encoder_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace levin::nn {

EncoderNormImpl::EncoderNormImpl(int64_t size, double eps, bool has_bias)
    : torch::nn::Module("EncoderNorm"), eps_(eps) {
  weight = register_parameter("weight", at::ones({size}));
  if (has_bias) bias = register_parameter("bias", at::zeros({size}));
}

at::Tensor EncoderNormImpl::forward(const at::Tensor& x) {
  return at::layer_norm(x, weight.sizes(), weight, bias, eps_);
}

}  // namespace levin::nn
