#include <levin/hosts/c/call.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <levin/hosts/c/status.h>
#include <torch/csrc/autograd/autograd.h>

#include <utility>

namespace levin::c {

namespace {

/// Returns the dtype in which the host's gradient of an output is kept until the loss was scaled: in 16 bits small ones
/// would be 0.
at::ScalarType gradient_dtype(const at::Tensor& output) {
  return output.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace

Calls& calls() {
  static auto& all = *new Calls("a call");
  return all;
}

Call::Call(const Model& model, const levin_array* inputs, size_t count, const Asked& asked, const Context& context)
    : module_(model.module()),
      has_divided_weights_(model.inputs().are_weights_divided()),
      wanted_(asked.wanted),
      is_for_step_(asked.is_for_step) {
  if ((wanted_ & ~(LEVIN_INPUT_GRADIENTS | LEVIN_WEIGHT_GRADIENTS)) != 0)
    throw UsageError("wanted is ", wanted_, ", expected LEVIN_INPUT_GRADIENTS, LEVIN_WEIGHT_GRADIENTS, both or 0");
  std::string name = text_of(asked.function);
  if (asked.function == nullptr) name = module_->export_functions().contains("forward") ? "forward" : "predict_step";
  const BatchFunction called = function_of(*module_, name);
  const Batch given_batch = BatchMaker().make(inputs, count, model.inputs().dtypes());
  const c10::Device device = model.inputs().device();
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
  const auto gathering = gather_weights(has_divided_weights_);
  context([&] { result = called(batch); });
  outputs_.set(result);  // which refuses what are no tensors
  for (const std::string& entry : result.names()) graph_outputs_.push_back(result[entry]);
  outputs_.detach();
}

at::Tensor Call::gradient_for(size_t output, const levin_array& gradient) const {
  const at::Tensor& result = graph_outputs_[output];
  if (sized(&gradient, "a gradient").data == nullptr && result.numel() > 0) return {};  // the loss does not use it
  const at::Tensor tensor = tensor_of(gradient);
  if (tensor.sizes() != result.sizes())
    throw UsageError("the gradient of output ", output, " is ", tensor.sizes(), ", and the output ", result.sizes());
  return tensor.to(result.options().dtype(gradient_dtype(result)), /*non_blocking=*/false, /*copy=*/true);
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

  NamedTensors of_inputs = inputs_, of_weights;
  if ((wanted_ & LEVIN_WEIGHT_GRADIENTS) != 0 && !is_for_step_)
    for (const auto& parameter : module_->named_parameters())
      of_weights.emplace_back(parameter.key(), parameter.value());
  take_gradients(of_inputs, of_weights);
  input_gradients_.set(std::move(of_inputs));
  weight_gradients_.set(std::move(of_weights));
  if (!is_for_step_) graph_outputs_.clear();
}

void Call::take_gradients(NamedTensors& inputs, NamedTensors& weights) const {
  std::vector<at::Tensor> outputs, of_outputs, sources;
  for (size_t i = 0; i < graph_outputs_.size(); ++i) {
    if (!takes_gradient(i)) continue;
    outputs.push_back(graph_outputs_[i]);
    of_outputs.push_back(gradients_[i].to(graph_outputs_[i].scalar_type()));
  }
  for (const NamedTensors* tensors : {&inputs, &weights})
    for (const auto& [name, tensor] : *tensors)
      if (tensor.requires_grad()) sources.push_back(tensor);
  std::vector<at::Tensor> found(sources.size());
  if (!sources.empty() && !outputs.empty()) {
    const at::AutoGradMode with_gradients(true);
    const auto gathering = gather_weights(has_divided_weights_);
    found = torch::autograd::grad(outputs, sources, of_outputs, /*retain_graph=*/is_for_step_,
                                  /*create_graph=*/false, /*allow_unused=*/true);
  }
  size_t next = 0;
  for (NamedTensors* tensors : {&inputs, &weights}) {
    for (auto& [name, tensor] : *tensors) {
      if (!tensor.requires_grad()) {
        tensor.reset();
        continue;
      }
      at::Tensor& gradient = found[next++];
      tensor = gradient.defined() ? std::move(gradient) : at::zeros_like(tensor);
    }
  }
}

const Results& Call::after_backward(const Results& results) const {
  if (!has_gradients_) throw UsageError("the call has had no backward yet");
  return results;
}

bool Call::takes_gradient(size_t output) const {
  return gradients_[output].defined() && graph_outputs_[output].requires_grad();
}

bool Call::has_loss() const {
  if (!has_gradients_) throw UsageError("a call has had no backward: give the gradients of its outputs first");
  if (is_used_) throw UsageError("a call was used for a step already");
  for (size_t i = 0; i < graph_outputs_.size(); ++i)
    if (takes_gradient(i)) return true;
  return false;
}

at::Tensor Call::surrogate_loss() {
  at::Tensor loss;
  if (!has_loss()) return loss;
  is_used_ = true;
  for (size_t i = 0; i < graph_outputs_.size(); ++i) {
    if (!takes_gradient(i)) continue;
    const at::Tensor part = (graph_outputs_[i].to(gradients_[i].scalar_type()) * gradients_[i]).sum();
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
    *call = calls().add(std::make_shared<Call>(*models().at(model), inputs, count, asked, plainly));
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
