#pragma once
#include <torch/nn/module.h>

#include <memory>
#include <ostream>
#include <string>
#include <utility>

namespace levin::parallel {

/// The common base of modules that wrap another one. The wrapped module's parameters, buffers and children are
/// registered directly, so that names in a state dict have no prefix `module.`.
template <class Impl>
class WrapperModule : public torch::nn::Module {
 public:
  /// Returns the wrapped module.
  const std::shared_ptr<Impl>& module() const { return module_; }

  void train(bool on = true) override {
    torch::nn::Module::train(on);
    module_->train(on);
  }
  void pretty_print(std::ostream& stream) const override {
    stream << name() << "(";
    module_->pretty_print(stream);
    stream << ")";
  }

 protected:
  WrapperModule(std::string name, std::shared_ptr<Impl> module)
      : torch::nn::Module(std::move(name)), module_(std::move(module)) {
    torch::nn::Module::train(module_->is_training());  // while there are no children whose modes it would change
    for (const auto& item : module_->named_parameters(/*recurse=*/false))
      register_parameter(item.key(), item.value(), item.value().requires_grad());
    for (const auto& item : module_->named_buffers(/*recurse=*/false)) register_buffer(item.key(), item.value());
    for (const auto& item : module_->named_children()) register_module(item.key(), item.value());
  }

 private:
  std::shared_ptr<Impl> module_;
};

}  // namespace levin::parallel
