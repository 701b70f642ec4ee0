#pragma once
#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/nn/module.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace levin {

/// One part of a TorchScript module as a torch::nn::Module. Its tensors and parts are registered under Python's names,
/// and its train and eval modes are forwarded to the script. The module's name is the name of the Python class.
class ScriptPart : public torch::nn::Module {
 public:
  explicit ScriptPart(torch::jit::Module script);
  void train(bool on = true) override;

 private:
  torch::jit::Module script_;
};

/// Sets the mode of one part of a script, without its submodules.
void set_script_mode(const torch::jit::Module& script, bool training);

/// Keeps the tensors of a TorchScript module and the tensors registered with a torch::nn::Module in sync.
///
/// A parameter is the same tensor in both. A buffer is two tensors that share memory, since a script may assign a new
/// tensor to its buffer while backward still needs the old one.
class ScriptTensors {
 public:
  /// Registers all parameters, buffers and parts of `script` with `module`. Parameters that share memory become one
  /// tensor.
  void bind(torch::nn::Module& module, const torch::jit::Module& script);

  /// Writes buffers that were moved or replaced outside to the script. Call it before the script runs or is saved.
  void push() const;
  /// Copies buffers that the script reassigned to the module. Call it after the script ran. Throws levin::UsageError if
  /// the script reassigned a parameter, since no optimizer would see the new tensor.
  void pull();

 private:
  struct Slot {
    std::string name;
    c10::intrusive_ptr<c10::ivalue::Object> object;
    size_t index;
    at::Tensor registered;
  };

  void bind_part(torch::nn::Module& module, const torch::jit::Module& script, const std::string& prefix);
  at::Tensor unified(const at::Tensor& parameter);

  std::vector<Slot> parameters_ = {}, buffers_ = {};
  std::map<const void*, std::shared_ptr<ScriptPart>> parts_ = {};
};

}  // namespace levin
