#pragma once

#include <torch/nn/module.h>

#include <string>
#include <unordered_map>

namespace levin {

/// The name of each parameter of the module and its submodules, by its tensor's implementation.
inline std::unordered_map<const at::TensorImpl*, std::string> names_of_parameters(const torch::nn::Module& module) {
  std::unordered_map<const at::TensorImpl*, std::string> names;
  for (const auto& item : module.named_parameters()) names[item.value().unsafeGetTensorImpl()] = item.key();
  return names;
}

}  // namespace levin
