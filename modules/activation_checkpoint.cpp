#include <levin/modules/activation_checkpoint.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <levin/core/device/rng_guard.h>
#include <levin/modules/autocast.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/module.h>

#include <memory>
#include <utility>

namespace levin {
namespace {

using TensorFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The function of the first run with its random and autocast state, to repeat the run.
struct FirstRun : torch::CustomClassHolder {
  explicit FirstRun(TensorFunction function_) : function(std::move(function_)) {}
  TensorFunction function;
  State rng = rng_state();
  AutocastState autocast = {};
};

struct Checkpoint : torch::autograd::Function<Checkpoint> {
  /// `tensors`: the inputs followed by a tensor that requires a gradient, so that backward always runs.
  static variable_list forward(AutogradContext* context, at::TensorList tensors,
                               const c10::intrusive_ptr<FirstRun>& run) {
    const variable_list inputs(tensors.begin(), tensors.end() - 1);
    context->saved_data["run"] = c10::IValue::make_capsule(run);
    context->save_for_backward(inputs);
    return run->function(inputs);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto run = c10::static_intrusive_pointer_cast<FirstRun>(context->saved_data["run"].toCapsule());
    variable_list inputs;
    for (const at::Tensor& saved : context->get_saved_variables())
      inputs.push_back(saved.defined() ? saved.detach().requires_grad_(saved.requires_grad()) : saved);
    const variable_list outputs = run_again(*run, inputs);
    variable_list roots, root_gradients;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].requires_grad() || !gradients[i].defined()) continue;
      roots.push_back(outputs[i]);
      root_gradients.push_back(gradients[i]);
    }
    if (!roots.empty()) torch::autograd::backward(roots, root_gradients);
    variable_list of_inputs;
    for (const at::Tensor& input : inputs) of_inputs.push_back(input.defined() ? input.grad() : at::Tensor());
    of_inputs.emplace_back();  // no gradient for the last tensor
    of_inputs.emplace_back();  // no gradient for `run`
    return of_inputs;
  }

  static variable_list run_again(const FirstRun& run, const variable_list& inputs) {
    const RngGuard random_numbers_as_before;
    load_rng_state(run.rng);
    const AutocastGuard autocast(run.autocast);
    const at::AutoGradMode gradients(true);
    return run.function(inputs);
  }
};

}  // namespace

std::vector<at::Tensor> checkpoint(const TensorFunction& function, const std::vector<at::Tensor>& inputs) {
  if (!at::GradMode::is_enabled()) return function(inputs);
  variable_list tensors = inputs;
  tensors.push_back(at::empty({0}).requires_grad_());
  return Checkpoint::apply(at::TensorList(tensors), c10::make_intrusive<FirstRun>(function));
}

at::Tensor checkpoint(const std::function<at::Tensor(const at::Tensor&)>& function, const at::Tensor& input) {
  const TensorFunction of_list = [function](const std::vector<at::Tensor>& inputs) {
    return std::vector<at::Tensor>{function(inputs.front())};
  };
  return checkpoint(of_list, std::vector<at::Tensor>{input}).front();
}

size_t set_checkpoint_activations(torch::nn::Module& module, bool on) {
  auto* const self = dynamic_cast<Checkpointable*>(&module);
  if (self != nullptr) self->checkpoint_activations = on;
  size_t count = self != nullptr;
  for (const auto& child : module.children()) count += set_checkpoint_activations(*child, on);
  return count;
}

void copy_checkpoint_activations(const torch::nn::Module& original, torch::nn::Module& replica) {
  const auto* from = dynamic_cast<const Checkpointable*>(&original);
  auto* to = dynamic_cast<Checkpointable*>(&replica);
  if (from != nullptr && to != nullptr) to->checkpoint_activations = from->checkpoint_activations;
  const auto originals = original.children(), replicas = replica.children();
  for (size_t i = 0; i < originals.size() && i < replicas.size(); ++i)
    copy_checkpoint_activations(*originals[i], *replicas[i]);
}

}  // namespace levin
