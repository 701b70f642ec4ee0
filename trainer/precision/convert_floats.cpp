#include <levin/trainer/precision/convert_floats.h>
#include <ATen/ops/empty.h>

#include <utility>
#include <vector>

namespace levin {

void convert_floats(torch::nn::Module& module, at::ScalarType dtype) {
  std::vector<std::pair<at::Tensor, at::Tensor>> kept;
  const auto keep = [&](const at::Tensor& tensor) {
    if (tensor.defined() && !tensor.is_floating_point()) kept.emplace_back(tensor, tensor.variable_data());
  };
  for (const at::Tensor& tensor : module.parameters()) keep(tensor);
  for (const at::Tensor& tensor : module.buffers()) keep(tensor);
  for (auto& [tensor, values] : kept)
    tensor.set_data(at::empty({0}, at::TensorOptions(at::kFloat).device(tensor.device())));
  module.to(dtype);
  for (auto& [tensor, values] : kept) tensor.set_data(values);
}

}  // namespace levin
