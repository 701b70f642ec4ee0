#include <levin/modules/observers/layer_names.h>
#include <ATen/record_function.h>

#include <functional>
#include <string_view>

namespace levin {
namespace {

void visit_tensors(const c10::IValue& value, const std::function<void(const at::Tensor&)>& visit) {
  if (value.isTensor()) visit(value.toTensor());
  if (value.isTensorList())
    for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
}

std::string own_shapes(const torch::nn::Module& module) {
  std::string text;
  for (const auto& parameter : module.named_parameters(/*recurse=*/false))
    text += c10::str(", ", parameter.key(), " ", parameter.value().sizes());
  return text;
}

}  // namespace

LayerNames::LayerNames(const torch::nn::Module& module) {
  const auto enter = [&](const std::string& name, const torch::nn::Module& part) {
    for (const at::Tensor& parameter : part.parameters(/*recurse=*/false))
      if (parameter.defined() && parameter.has_storage() && parameter.numel() > 0)
        layers_.emplace(TensorPlace(parameter), Layer{name, &part});
  };
  enter("", module);  // separately: named_modules(include_self) needs a shared_ptr
  for (const auto& part : module.named_modules("", /*include_self=*/false)) enter(part.key(), *part.value());
}

const LayerNames::Layer* LayerNames::layer_of(const at::Tensor& tensor) const {
  if (!tensor.defined() || !tensor.has_storage()) return nullptr;
  const auto found = layers_.find(TensorPlace(tensor));
  return found == layers_.end() ? nullptr : &found->second;
}

std::string LayerNames::described(const at::RecordFunction& operation) const {
  const Layer* layer = nullptr;
  std::string others;
  for (const c10::IValue& input : operation.inputs())
    visit_tensors(input, [&](const at::Tensor& tensor) {
      if (const Layer* found = layer_of(tensor))
        layer = found;
      else if (tensor.defined())
        others += c10::str(others.empty() ? "" : " and ", tensor.sizes());
    });
  if (layer != nullptr)
    return c10::str("layer ", layer->name.empty() ? "(the module itself)" : layer->name, " (", layer->module->name(),
                    own_shapes(*layer->module), ") was given ", others);
  std::string_view name = operation.name();
  if (name.starts_with("aten::")) name.remove_prefix(6);
  return c10::str(name, " of ", others);
}

}  // namespace levin
