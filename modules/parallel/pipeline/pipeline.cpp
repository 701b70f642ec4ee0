#include <levin/modules/parallel/pipeline/pipeline.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/cat.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/pipeline/pipeline_pass.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace levin::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A pipeline pass kept between forward and backward.
struct HeldPass : torch::CustomClassHolder {
  explicit HeldPass(PipelinePass pass_, std::vector<int64_t> sizes_ = {})
      : pass(std::move(pass_)), sizes(std::move(sizes_)) {}
  PipelinePass pass;
  std::vector<int64_t> sizes;  ///< samples of each micro-batch
};
using PassPointer = c10::intrusive_ptr<HeldPass>;

PassPointer pass_in(AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<HeldPass>(context->saved_data["pass"].toCapsule());
}

/// Returns the tensors that a pass differentiates: the input and all parameters that require gradients.
variable_list differentiated(const at::Tensor& input, const std::vector<PipelineStage>& stages) {
  variable_list tensors = {input};
  for (const PipelineStage& stage : stages)
    for (const at::Tensor& parameter : stage.module->parameters())
      if (parameter.requires_grad()) tensors.push_back(parameter);
  return tensors;
}

/// Returns the gradients of `differentiated`, and an undefined one for the pass.
variable_list found_gradients(const PipelinePass& pass) {
  const std::vector<at::Tensor> parts = pass.input_gradients();
  const bool wanted = std::all_of(parts.begin(), parts.end(), [](const at::Tensor& part) { return part.defined(); });
  variable_list gradients = {wanted ? at::cat(parts) : at::Tensor()};
  for (at::Tensor& gradient : pass.parameter_gradients()) gradients.push_back(std::move(gradient));
  return gradients;
}

struct GPipe : torch::autograd::Function<GPipe> {
  static at::Tensor forward(AutogradContext* context, at::TensorList /*differentiated*/, const PassPointer& held) {
    context->saved_data["pass"] = c10::IValue::make_capsule(held);
    const std::vector<at::Tensor> outputs = held->pass.run_forward();
    for (const at::Tensor& output : outputs) held->sizes.push_back(output.size(0));
    return at::cat(outputs).detach();
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const PassPointer held = pass_in(context);
    held->pass.run_backward(gradients[0].split_with_sizes(held->sizes));
    held->pass.wait_for_stages();
    variable_list found = found_gradients(held->pass);
    found.emplace_back();
    return found;
  }
};

struct OneForwardOneBackward : torch::autograd::Function<OneForwardOneBackward> {
  static at::Tensor forward(AutogradContext* context, at::TensorList /*differentiated*/, const PassPointer& held,
                            const std::function<at::Tensor(const at::Tensor&, size_t)>& loss_of) {
    context->saved_data["pass"] = c10::IValue::make_capsule(held);
    return held->pass.run_both(loss_of);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const PassPointer held = pass_in(context);
    variable_list found = found_gradients(held->pass);
    for (at::Tensor& gradient : found)
      if (gradient.defined()) gradient = gradient * gradients[0].to(gradient.options(), /*non_blocking=*/true);
    found.emplace_back();
    found.emplace_back();
    return found;
  }
};

}  // namespace

PipelineImpl::PipelineImpl(PipelineOptions options) : options_(options) {
  if (options_.micro_batches < 1)
    throw UsageError("Pipeline: expected at least 1 micro-batch, got ", options_.micro_batches);
}

void PipelineImpl::append(PipelineStage stage) {
  stage.module->to(stage.device);
  register_module(std::to_string(stages_.size()), stage.module);
  stages_.push_back(std::move(stage));
}

std::vector<at::Tensor> PipelineImpl::split(const at::Tensor& tensor, const char* name) const {
  if (stages_.empty()) throw UsageError("Pipeline: it has no stages; push_back(module, device) appends one");
  if (tensor.dim() == 0 || tensor.size(0) == 0)
    throw UsageError("Pipeline: expected ", name, " of shape [samples, ...] with at least one sample, got ",
                     tensor.sizes());
  return tensor.chunk(options_.micro_batches);
}

at::Tensor PipelineImpl::forward(const at::Tensor& input) {
  PipelinePass pass(stages_, split(input, "an input"));
  if (!at::GradMode::is_enabled()) return at::cat(pass.run_forward());
  const variable_list tensors = differentiated(input, stages_);
  return GPipe::apply(at::TensorList(tensors), c10::make_intrusive<HeldPass>(std::move(pass)));
}

at::Tensor PipelineImpl::loss(const at::Tensor& input, const at::Tensor& target, const Loss& loss) {
  std::vector<at::Tensor> inputs = split(input, "an input"), targets = split(target, "a target");
  if (target.size(0) != input.size(0))
    throw UsageError("Pipeline: ", input.size(0), " inputs and ", target.size(0), " targets");
  const auto samples = static_cast<double>(input.size(0));
  const c10::Device device = stages_.back().device;
  const auto loss_of = [&](const at::Tensor& output, size_t micro_batch) {
    const at::Tensor& part = targets[micro_batch];
    return loss(output, part.to(device, /*non_blocking=*/true)) * (static_cast<double>(part.size(0)) / samples);
  };
  PipelinePass pass(stages_, std::move(inputs));
  if (!at::GradMode::is_enabled()) {
    const std::vector<at::Tensor> outputs = pass.run_forward();
    at::Tensor sum = loss_of(outputs.front(), 0);
    for (size_t i = 1; i < outputs.size(); ++i) sum = sum + loss_of(outputs[i], i);
    return sum;
  }
  const std::function<at::Tensor(const at::Tensor&, size_t)> of_part = loss_of;
  const variable_list tensors = differentiated(input, stages_);
  return OneForwardOneBackward::apply(at::TensorList(tensors), c10::make_intrusive<HeldPass>(std::move(pass)), of_part);
}

}  // namespace levin::parallel
