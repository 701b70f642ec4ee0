#include <levin/modules/optim/clip_grad.h>
#include <ATen/ops/scalar_tensor.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/gradients.h>
#include <torch/nn/utils/clip_grad.h>

#include <cmath>

namespace levin::optim {

at::Tensor clip_grad_norm_(const std::vector<at::Tensor>& parameters, double max_norm, double norm_type,
                           bool error_if_nonfinite) {
  if (norm_type != 2.0) {
    const double norm = torch::nn::utils::clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite);
    return at::scalar_tensor(norm);
  }
  Gradients gradients(parameters);
  const at::Tensor norm = gradients.pass(1.0, /*want_norm=*/true).norm;
  if (error_if_nonfinite && !std::isfinite(norm.item<double>()))
    throw UsageError("clip_grad_norm_: the norm of the gradients is ", norm.item<double>(),
                     "; find what made it with detect_anomaly, or set error_if_nonfinite to false");
  gradients.clip_norm(norm, max_norm);
  return norm;
}

void clip_grad_value_(const std::vector<at::Tensor>& parameters, double clip_value) {
  Gradients(parameters).clip_value(clip_value);
}

}  // namespace levin::optim
