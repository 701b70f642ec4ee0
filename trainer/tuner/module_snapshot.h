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

/// A module's parameters, buffers, gradients and modes as they were, to be put back to the bit: values, the very
/// memory (tensors that share it still do), device, dtype and layout. Copies of tensors on other devices are kept in
/// main memory.
class ModuleSnapshot {
 public:
  explicit ModuleSnapshot(LightningModule& module);
  /// Keeps what the module has got since, as it is now: layers that its setup or configure_model has made.
  void add_new();
  void restore();

 private:
  struct Kept {
    at::Tensor tensor;  ///< the module's own
    at::Tensor memory;  ///< what it pointed to
    at::Tensor values;
    at::Tensor gradient = {}, gradient_values = {};  ///< undefined where it had none
    bool requires_grad = false;
  };
  void keep(const at::Tensor& tensor);

  LightningModule& module_;
  std::vector<Kept> kept_ = {};
  std::unordered_set<const void*> seen_ = {};
  std::vector<std::pair<torch::nn::Module*, bool>> modes_ = {};
};

}  // namespace levin
