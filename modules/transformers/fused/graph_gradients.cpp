#include <levin/modules/transformers/fused/graph_gradients.h>
#include <torch/csrc/autograd/autograd.h>

namespace levin::nn::fused {

variable_list graph_gradients(c10::function_ref<at::Tensor(const variable_list&)> plain, const variable_list& inputs,
                              const at::Tensor& gradient) {
  variable_list wanted;
  for (const at::Tensor& input : inputs)
    if (input.requires_grad()) wanted.push_back(input);
  const variable_list found = torch::autograd::grad({plain(inputs)}, wanted, {gradient}, /*retain_graph=*/true,
                                                    /*create_graph=*/true, /*allow_unused=*/true);
  variable_list gradients;
  auto next = found.begin();
  for (const at::Tensor& input : inputs) gradients.push_back(input.requires_grad() ? *next++ : at::Tensor());
  return gradients;
}

}  // namespace levin::nn::fused
