#include <levin/modules/script_part.h>
#include <levin/core/system/error.h>

#include <utility>

namespace levin {
namespace {

/// Returns whether both tensors view the same memory in the same way.
bool same_view(const at::Tensor& a, const at::Tensor& b) {
  return a.is_same(b) ||
         (a.scalar_type() == b.scalar_type() && a.storage().is_alias_of(b.storage()) &&
          a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() && a.strides() == b.strides());
}

}  // namespace

void set_script_mode(const torch::jit::Module& script, bool training) {
  if (const auto slot = script.type()->findAttributeSlot("training")) script._ivalue()->setSlot(*slot, training);
}

ScriptPart::ScriptPart(torch::jit::Module script)
    : torch::nn::Module(script.type()->name() ? script.type()->name()->name() : "ScriptPart"),
      script_(std::move(script)) {}

void ScriptPart::train(bool on) {
  torch::nn::Module::train(on);
  set_script_mode(script_, on);
}

void ScriptTensors::bind(torch::nn::Module& module, const torch::jit::Module& script) {
  bind_part(module, script, "");
  parts_.clear();
}

void ScriptTensors::bind_part(torch::nn::Module& module, const torch::jit::Module& script, const std::string& prefix) {
  const auto object = script._ivalue();
  const auto type = script.type();
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const std::string& name = type->getAttributeName(i);
    const c10::IValue value = object->getSlot(i);
    if (type->is_parameter(i) && value.isTensor() && value.toTensor().defined()) {
      const at::Tensor tensor = unified(value.toTensor());
      object->setSlot(i, tensor);
      parameters_.push_back({prefix + name, object, i, tensor});
      module.register_parameter(name, tensor, tensor.requires_grad());
    } else if (type->is_buffer(i) && value.isTensor() && value.toTensor().defined()) {
      const at::Tensor tensor = value.toTensor().detach();
      buffers_.push_back({prefix + name, object, i, tensor});
      module.register_buffer(name, tensor);
    }
  }
  for (const auto& child : script.named_children()) {
    auto& part = parts_[child.value._ivalue().get()];
    if (!part) {
      part = std::make_shared<ScriptPart>(child.value);
      bind_part(*part, child.value, prefix + child.name + ".");
    }
    module.register_module(child.name, part);
  }
}

at::Tensor ScriptTensors::unified(const at::Tensor& parameter) {
  for (const Slot& slot : parameters_)
    if (same_view(slot.registered, parameter)) return slot.registered;
  return parameter;
}

void ScriptTensors::push() const {
  for (const Slot& slot : buffers_)
    if (!same_view(slot.object->getSlot(slot.index).toTensor(), slot.registered))
      slot.object->setSlot(slot.index, slot.registered.detach());
}

void ScriptTensors::pull() {
  for (const Slot& slot : parameters_)
    if (!slot.object->getSlot(slot.index).toTensor().is_same(slot.registered))
      throw UsageError("the script assigns a new tensor to its parameter ", slot.name,
                       ", which the optimizer would not see; assign in place there, or make it a buffer");
  for (Slot& slot : buffers_) {
    const at::Tensor now = slot.object->getSlot(slot.index).toTensor();
    if (!same_view(now, slot.registered)) slot.registered.set_data(now.detach());
  }
}

}  // namespace levin
