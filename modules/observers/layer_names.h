#pragma once
#include <levin/modules/observers/tensor_place.h>
#include <torch/nn/module.h>

#include <string>
#include <unordered_map>

namespace at {
class RecordFunction;
}

namespace levin {

/// The layers of a module, found by the memory of their own parameters, to name the operations that LibTorch runs.
class LayerNames {
 public:
  /// The module must outlive the names.
  explicit LayerNames(const torch::nn::Module& module);

  /// Returns what an operation is and got, at its beginning: "layer net.1 (torch::nn::LinearImpl, weight [3, 5], bias
  /// [3]) was given [4, 7]", or "linear of [4, 7] and [3, 5]" for an operation without parameters of the module.
  std::string described(const at::RecordFunction& operation) const;
  /// Returns whether a tensor begins where a parameter of the module does.
  bool is_parameter(const at::Tensor& tensor) const { return layer_of(tensor) != nullptr; }
  /// Returns whether a description names a layer.
  static bool names_layer(const std::string& description) { return description.starts_with("layer "); }

 private:
  struct Layer {
    std::string name;
    const torch::nn::Module* module;
  };
  const Layer* layer_of(const at::Tensor& tensor) const;

  std::unordered_map<TensorPlace, Layer, TensorPlace::Hash> layers_ = {};
};

}  // namespace levin
