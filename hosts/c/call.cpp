#include <levin/hosts/c/call.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <levin/hosts/c/model.h>
#include <levin/hosts/c/status.h>
#include <torch/csrc/autograd/autograd.h>

#include <utility>

namespace levin::c {

Calls& calls() {
  static Calls all("a call");
  return all;
}

Call::Call(std::shared_ptr<LightningModule> module, const levin_array* inputs, size_t count, const Asked& asked,
           const Context& context)
    : module_(std::move(module)), wanted_(asked.wanted), is_for_step_(asked.is_for_step) {
  if ((wanted_ & ~(LEVIN_INPUT_GRADIENTS | LEVIN_WEIGHT_GRADIENTS)) != 0)
    throw UsageError("wanted is ", wanted_, ", expected LEVIN_INPUT_GRADIENTS, LEVIN_WEIGHT_GRADIENTS, both or 0");
  std::string name = text_of(asked.function);
  if (asked.function == nullptr) name = module_->export_functions().contains("forward") ? "forward" : "predict_step";
  const BatchFunction called = function_of(*module_, name);
  const ModuleInputs of_module(*module_);
  const Batch given_batch = BatchMaker().make(inputs, count, of_module.dtypes());
  const c10::Device device = of_module.device();
  const at::AutoGradMode gradients(true);
  Batch batch;
  for (const std::string& entry : given_batch.names()) {
    // A copy: backward reads it after the host has changed its own.
    at::Tensor leaf = given_batch[entry].detach().to(device, /*non_blocking=*/false, /*copy=*/true);
    if ((wanted_ & LEVIN_INPUT_GRADIENTS) != 0 && at::isFloatingType(leaf.scalar_type())) leaf.requires_grad_();
    inputs_.emplace_back(entry, leaf);
    batch.set(entry, leaf);
  }
  Batch result;
  context([&] { result = called(batch); });
  NamedTensors detached;
  outputs_.set(result);  // which refuses what are no tensors
  for (const std::string& entry : result.names()) {
    graph_outputs_.push_back(result[entry]);
    detached.emplace_back(entry, result[entry].detach());
  }
  outputs_.set(std::move(detached));
}

at::Tensor Call::gradient_for(size_t output, const levin_array& gradient) const {
  const at::Tensor& result = graph_outputs_[output];
  if (sized(&gradient, "a gradient").data == nullptr && result.numel() > 0) return {};  // the loss does not use it
  const at::Tensor tensor = tensor_of(gradient);
  if (tensor.sizes() != result.sizes())
    throw UsageError("the gradient of output ", output, " is ", tensor.sizes(), ", and the output ", result.sizes());
  return tensor.to(result.options(), /*non_blocking=*/false, /*copy=*/true);
}

void Call::backward(const levin_array* gradients, size_t count) {
  if (has_gradients_) throw UsageError("the call has had its backward; make another call");
  if (count != graph_outputs_.size())
    throw UsageError(count, " gradients, and the call has ", graph_outputs_.size(), " outputs");
  if (count > 0) given(gradients, "the gradients");
  std::vector<at::Tensor> all;
  for (size_t i = 0; i < count; ++i) all.push_back(gradient_for(i, gradients[i]));
  gradients_ = std::move(all);
  has_gradients_ = true;

  std::vector<at::Tensor> outputs, of_outputs, sources;
  for (size_t i = 0; i < count; ++i) {
    if (!gradients_[i].defined() || !graph_outputs_[i].requires_grad()) continue;
    outputs.push_back(graph_outputs_[i]);
    of_outputs.push_back(gradients_[i]);
  }
  NamedTensors of_inputs, of_weights;
  for (const auto& [name, input] : inputs_) {
    of_inputs.emplace_back(name, at::Tensor());
    if (input.requires_grad()) sources.push_back(input);
  }
  const bool wants_weights = (wanted_ & LEVIN_WEIGHT_GRADIENTS) != 0 && !is_for_step_;
  if (wants_weights) {
    for (const auto& parameter : module_->named_parameters()) {
      of_weights.emplace_back(parameter.key(), at::Tensor());
      if (parameter.value().requires_grad()) sources.push_back(parameter.value());
    }
  }
  if (!sources.empty()) {
    const at::AutoGradMode with_gradients(true);
    std::vector<at::Tensor> found(sources.size());
    if (!outputs.empty())
      found = torch::autograd::grad(outputs, sources, of_outputs, /*retain_graph=*/is_for_step_,
                                    /*create_graph=*/false, /*allow_unused=*/true);
    for (size_t i = 0; i < found.size(); ++i)
      if (!found[i].defined()) found[i] = at::zeros_like(sources[i]);
    size_t next = 0;
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].second.requires_grad()) of_inputs[i].second = std::move(found[next++]);
    size_t place = 0;
    for (const auto& parameter : module_->named_parameters()) {
      if (!wants_weights) break;
      if (parameter.value().requires_grad()) of_weights[place].second = std::move(found[next++]);
      ++place;
    }
  }
  input_gradients_.set(std::move(of_inputs));
  weight_gradients_.set(std::move(of_weights));
  if (!is_for_step_) graph_outputs_.clear();
}

const Results& Call::after_backward(const Results& results) const {
  if (!has_gradients_) throw UsageError("the call has had no backward yet");
  return results;
}

at::Tensor Call::surrogate_loss() {
  if (!has_gradients_) throw UsageError("a call has had no backward: give the gradients of its outputs first");
  if (std::exchange(is_used_, true)) throw UsageError("a call was used for a step already");
  at::Tensor loss;
  for (size_t i = 0; i < graph_outputs_.size(); ++i) {
    if (!gradients_[i].defined() || !graph_outputs_[i].requires_grad()) continue;
    const at::ScalarType dtype = graph_outputs_[i].scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor part = (graph_outputs_[i].to(dtype) * gradients_[i].to(dtype)).sum();
    loss = loss.defined() ? loss + part : part;
  }
  graph_outputs_.clear();
  return loss;
}

}  // namespace levin::c

using namespace levin::c;

levin_status levin_model_call(levin_model* model, const char* function, const levin_array* inputs, size_t count,
                              int32_t wanted, levin_call** call) {
  return guarded("levin_model_call", [&] {
    given(call, "the call") = nullptr;
    const auto plainly = [](const std::function<void()>& run) { run(); };
    const Call::Asked asked{.function = function, .wanted = wanted};
    *call = calls().add(std::make_shared<Call>(models().at(model)->module(), inputs, count, asked, plainly));
  });
}

levin_status levin_call_backward(levin_call* call, const levin_array* output_gradients, size_t count) {
  return guarded("levin_call_backward", [&] { calls().at(call)->backward(output_gradients, count); });
}

levin_status levin_call_output_count(levin_call* call, size_t* count) {
  return guarded("levin_call_output_count", [&] { given(count, "the count") = calls().at(call)->outputs().count(); });
}
levin_status levin_call_output(levin_call* call, size_t place, levin_array* array) {
  return guarded("levin_call_output", [&] { calls().at(call)->outputs().give(place, given(array, "the array")); });
}

levin_status levin_call_input_gradient_count(levin_call* call, size_t* count) {
  return guarded("levin_call_input_gradient_count",
                 [&] { given(count, "the count") = calls().at(call)->input_gradients().count(); });
}
levin_status levin_call_input_gradient(levin_call* call, size_t place, levin_array* array) {
  return guarded("levin_call_input_gradient",
                 [&] { calls().at(call)->input_gradients().give(place, given(array, "the array")); });
}
levin_status levin_call_weight_gradient_count(levin_call* call, size_t* count) {
  return guarded("levin_call_weight_gradient_count",
                 [&] { given(count, "the count") = calls().at(call)->weight_gradients().count(); });
}
levin_status levin_call_weight_gradient(levin_call* call, size_t place, levin_array* array) {
  return guarded("levin_call_weight_gradient",
                 [&] { calls().at(call)->weight_gradients().give(place, given(array, "the array")); });
}

void levin_call_destroy(levin_call* call) {
  guarded("levin_call_destroy", [&] { calls().take(call); });
}
