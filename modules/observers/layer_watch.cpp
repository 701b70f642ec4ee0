#include <levin/modules/observers/layer_watch.h>
#include <ATen/record_function.h>

#include <exception>
#include <functional>
#include <string_view>
#include <utility>

namespace levin {
namespace {

thread_local LayerWatch* watch_of_thread = nullptr;

/// Keeps a description of an operation's inputs, since the inputs are gone when the operation ends.
struct Begun : at::ObserverContext {
  explicit Begun(std::string text_) : text(std::move(text_)) {}
  std::string text;
};

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

LayerWatch::LayerWatch(const torch::nn::Module& module)
    : exceptions_before_(std::uncaught_exceptions()), outer_(std::exchange(watch_of_thread, this)) {
  const auto enter = [&](const std::string& name, const torch::nn::Module& part) {
    for (const at::Tensor& parameter : part.parameters(/*recurse=*/false))
      if (parameter.defined() && parameter.has_storage() && parameter.numel() > 0)
        layer_of_data_.emplace(parameter.const_data_ptr(), Layer{name, &part});
  };
  enter("", module);  // separately: named_modules(include_self) needs a shared_ptr
  for (const auto& part : module.named_modules("", /*include_self=*/false)) enter(part.key(), *part.value());
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&LayerWatch::begins, &LayerWatch::ends)
                                           .needsInputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
}

LayerWatch::~LayerWatch() {
  at::removeCallback(handle_);
  watch_of_thread = outer_;
}

std::unique_ptr<at::ObserverContext> LayerWatch::begins(const at::RecordFunction& operation) {
  if (watch_of_thread == nullptr) return nullptr;
  return std::make_unique<Begun>(watch_of_thread->described(operation));
}

/// An exception leaves operations from the innermost outwards: the last one of a layer is the operation that the module
/// called. An operation without parameters, such as a transposition inside a layer's operation, does not replace it.
void LayerWatch::ends(const at::RecordFunction& /*operation*/, at::ObserverContext* context) {
  LayerWatch* const watch = watch_of_thread;
  if (watch == nullptr || context == nullptr || std::uncaught_exceptions() <= watch->exceptions_before_) return;
  const std::string& text = static_cast<const Begun*>(context)->text;
  const bool names_layer = text.starts_with("layer ");
  if (names_layer || !watch->failed_ || !watch->failed_->starts_with("layer ")) watch->failed_ = text;
}

const LayerWatch::Layer* LayerWatch::layer_of(const at::Tensor& tensor) const {
  if (!tensor.defined() || !tensor.has_storage()) return nullptr;
  const auto found = layer_of_data_.find(tensor.const_data_ptr());
  return found == layer_of_data_.end() ? nullptr : &found->second;
}

std::string LayerWatch::described(const at::RecordFunction& operation) const {
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
