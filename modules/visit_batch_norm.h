#pragma once

#include <torch/nn/modules/batchnorm.h>

namespace levin {

/// Calls `visit` with `part` as the batch norm of LibTorch that it is (`BatchNorm1dImpl&`, 2d or 3d); does nothing for
/// another module.
template <class Visit>
void visit_batch_norm(torch::nn::Module& part, const Visit& visit) {
  if (auto* one = part.as<torch::nn::BatchNorm1dImpl>()) visit(*one);
  if (auto* two = part.as<torch::nn::BatchNorm2dImpl>()) visit(*two);
  if (auto* three = part.as<torch::nn::BatchNorm3dImpl>()) visit(*three);
}

}  // namespace levin
