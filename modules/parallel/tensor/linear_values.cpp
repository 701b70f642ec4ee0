#include <levin/modules/parallel/tensor/linear_values.h>
#include <ATen/ops/empty.h>
#include <torch/nn/modules/linear.h>

namespace levin::parallel {

std::pair<at::Tensor, at::Tensor> first_values_of_linear(int64_t in_features, int64_t out_features, bool bias,
                                                         bool initialized) {
  if (!initialized) return {at::empty({out_features, in_features}), bias ? at::empty({out_features}) : at::Tensor()};
  const torch::nn::Linear drawn(torch::nn::LinearOptions(in_features, out_features).bias(bias));
  return {drawn->weight.detach(), bias ? drawn->bias.detach() : at::Tensor()};
}

}  // namespace levin::parallel
