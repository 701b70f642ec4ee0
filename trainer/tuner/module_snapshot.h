#pragma once
#include <ATen/core/Tensor.h>
#include <unordered_set>
#include <utility>
#include <vector>

namespace torch::nn {
class Module;
}

namespace levin {

class LightningModule;

/// A copy of a module's parameters, buffers, gradients and training modes. `restore` is bit-exact: values, storage
/// (tensors that share memory still do), device, dtype and layout. Copies of tensors on other devices are kept in main
/// memory.
class ModuleSnapshot {
 public:
  explicit ModuleSnapshot(LightningModule& module);
  /// Adds tensors and submodules that are new since the last call: layers made by setup or configure_model.
  void add_new();
  void restore();

 private:
  struct Kept {
    at::Tensor tensor;  ///< the module's tensor
    at::Tensor memory;  ///< the storage of `tensor`
    at::Tensor values;
    at::Tensor gradient = {}, gradient_values = {};  ///< undefined if there was none
    bool requires_grad = false;
  };
  void keep(const at::Tensor& tensor);

  LightningModule& module_;
  std::vector<Kept> kept_ = {};
  std::unordered_set<const void*> seen_ = {};
  std::vector<std::pair<torch::nn::Module*, bool>> modes_ = {};
};

}  // namespace levin
