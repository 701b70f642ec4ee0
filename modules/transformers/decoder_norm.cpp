#include <levin/modules/transformers/decoder_norm.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/zeros.h>
#include <levin/modules/parallel/tensor/tensor_collectives.h>
#include <levin/modules/transformers/fused/fused_operators.h>

namespace levin::nn {

DecoderNormImpl::DecoderNormImpl(NormKind kind, int64_t size, double eps)
    : torch::nn::Module("DecoderNorm"), kind_(kind), size_(size), eps_(eps) {
  weight = register_parameter("weight", kind == NormKind::RmsPlusOne ? at::zeros({size}) : at::ones({size}));
  if (kind == NormKind::Layer) bias = register_parameter("bias", at::zeros({size}));
}

at::Tensor DecoderNormImpl::forward(const at::Tensor& x, const parallel::TensorGroup& group) {
  const at::Tensor scale = parallel::copy_to_tensor_group(weight, group);
  if (kind_ == NormKind::Layer)
    return at::layer_norm(x, {size_}, scale, parallel::copy_to_tensor_group(bias, group), eps_);
  if (fused::can_fuse(x) && scale.scalar_type() == at::kFloat)
    return fused::rms_norm(x, kind_ == NormKind::Rms ? scale : 1 + scale, eps_);
  if (kind_ == NormKind::Rms) return at::rms_norm(x, {size_}, scale, eps_);
  if (x.scalar_type() == at::kDouble) return at::rms_norm(x, {size_}, 1 + scale, eps_);
  return at::rms_norm(x.to(at::kFloat), {size_}, 1 + scale.to(at::kFloat), eps_).to(x.scalar_type());
}

}  // namespace levin::nn
