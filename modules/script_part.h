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

/// One part of a TorchScript module as a torch::nn::Module: its tensors and parts are registered under Python's names,
/// and its train and eval modes reach the script. Its name is that of the Python class.
class ScriptPart : public torch::nn::Module {
 public:
  explicit ScriptPart(torch::jit::Module script);
  void train(bool on = true) override;

 private:
  torch::jit::Module script_;
};

/// Sets the mode of one part of a script, without the parts inside of it.
void set_script_mode(const torch::jit::Module& script, bool training);

/// Keeps the tensors of a TorchScript module and those registered with a torch::nn::Module the same.
///
/// A parameter is one tensor in both. A buffer is two tensors with one memory, since a script may assign a new tensor
/// to its buffer while the old one is still needed for backward.
class ScriptTensors {
 public:
  /// Registers all parameters, buffers and parts of `script` with `module`. Parameters that share memory become one.
  void bind(torch::nn::Module& module, const torch::jit::Module& script);

  /// Before the script runs or is saved: buffers that were moved or replaced outside reach the script.
  void push() const;
  /// After it ran: buffers to which it assigned new tensors reach the module. Throws levin::UsageError where it
  /// assigned one to a parameter, which no optimizer would see.
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
