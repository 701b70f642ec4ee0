#include <levin/modules/observers/output_shapes.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <levin/modules/observers/tensor_place.h>
#include <levin/modules/training_modes.h>
#include <torch/nn/module.h>

#include <memory>
#include <unordered_map>

namespace levin {
namespace {

/// The targets and results of this thread's observer.
struct Search {
  std::unordered_map<TensorPlace, const torch::nn::Module*, TensorPlace::Hash> owners = {};
  OutputShapes found;
  bool inside = false;  ///< inside an operation on a parameter, whose inner operations do not count
};
thread_local Search* search = nullptr;

struct Match : at::ObserverContext {
  explicit Match(const torch::nn::Module* owner_) : owner(owner_) {}
  const torch::nn::Module* owner;
};

const torch::nn::Module* owner_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return nullptr;
  const auto found = search->owners.find(TensorPlace(tensor));
  return found == search->owners.end() ? nullptr : found->second;
}

const torch::nn::Module* owner_of(const c10::IValue& value) {
  if (value.isTensor()) return owner_of(value.toTensor());
  if (!value.isTensorList()) return nullptr;
  for (const at::Tensor& tensor : value.toTensorVector())
    if (const auto* owner = owner_of(tensor)) return owner;
  return nullptr;
}

std::unique_ptr<at::ObserverContext> operation_begins(const at::RecordFunction& operation) {
  if (search == nullptr || search->inside) return nullptr;
  for (const c10::IValue& input : operation.inputs())
    if (const auto* owner = owner_of(input)) {
      search->inside = true;
      return std::make_unique<Match>(owner);
    }
  return nullptr;
}

void operation_ends(const at::RecordFunction& operation, at::ObserverContext* context) {
  if (search == nullptr || context == nullptr) return;
  search->inside = false;
  const auto* owner = static_cast<const Match*>(context)->owner;
  for (const c10::IValue& output : operation.outputs()) {
    // A view of the parameter itself is not an output of the layer.
    if (!output.isTensor() || owner_of(output.toTensor()) != nullptr) continue;
    search->found[owner] = output.toTensor().sizes().vec();
    return;
  }
}

}  // namespace

OutputShapes observe_output_shapes(torch::nn::Module& module, const std::function<void()>& forward) {
  Search own;
  const TrainingModes modes(module);
  const auto enter = [&](torch::nn::Module& submodule) {
    for (const at::Tensor& parameter : submodule.parameters(/*recurse=*/false))
      if (parameter.numel() > 0) own.owners.emplace(TensorPlace(parameter), &submodule);
  };
  enter(module);  // separately: modules(include_self) needs a shared_ptr
  for (const auto& submodule : module.modules(/*include_self=*/false)) enter(*submodule);
  const auto callback = at::RecordFunctionCallback(operation_begins, operation_ends)
                            .needsInputs(true)
                            .needsOutputs(true)
                            .scopes({at::RecordScope::FUNCTION});
  const at::CallbackHandle handle = at::addThreadLocalCallback(callback);
  const auto put_back = [&](void*) {
    at::removeCallback(handle);
    search = nullptr;
    modes.restore();
  };
  const std::unique_ptr<void, decltype(put_back)> guard(&own, put_back);
  search = &own;
  module.eval();
  const at::NoGradGuard no_grad;
  forward();
  return own.found;
}

}  // namespace levin
