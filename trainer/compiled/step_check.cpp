#include <levin/trainer/compiled/step_check.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/ScopeExit.h>
#include <levin/core/device/own_generator.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/system/error.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace levin::compiled {
namespace {

double largest(const at::Tensor& values) { return values.numel() == 0 ? 0 : values.abs().max().item<double>(); }

std::vector<at::Tensor> copies_of_buffers(const std::vector<StepInput>& inputs) {
  std::vector<at::Tensor> copies;
  for (const StepInput& input : inputs)
    if (input.kind == InputKind::Buffer) copies.push_back(input.tensor.clone());
  return copies;
}

void put_back(const std::vector<StepInput>& inputs, const std::vector<at::Tensor>& copies) {
  const at::NoGradGuard no_grad;
  auto copy = copies.begin();
  for (const StepInput& input : inputs)
    if (input.kind == InputKind::Buffer) input.tensor.copy_(*copy++);
}

/// Returns the loss and its gradients.
std::vector<at::Tensor> eager_results(const TracedParts& parts, const Batch& batch,
                                      const std::vector<at::Tensor>& parameters) {
  const at::AutoGradMode with_gradients(true);
  StepLog log;
  log.begin(batch.size(), /*reads_cpu=*/false);
  LogSink* const sink = std::exchange(parts.context.sink, &log);
  const auto as_before = c10::make_scope_exit([&] { parts.context.sink = sink; });
  at::Tensor loss;
  parts.precision.forward_context([&] { loss = parts.module.training_step(batch, 0).loss; });
  std::vector<at::Tensor> results = {loss.detach()};
  const auto gradients =
      torch::autograd::grad({loss}, parameters, {}, {}, /*create_graph=*/false, /*allow_unused=*/true);
  for (size_t i = 0; i < parameters.size(); ++i)
    results.push_back(gradients[i].defined() ? gradients[i] : at::zeros_like(parameters[i]));
  return results;
}

std::vector<at::Tensor> clones(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

void restore(const std::vector<at::Tensor>& tensors, const std::vector<at::Tensor>& copies) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < tensors.size(); ++i) at::Tensor(tensors[i]).copy_(copies[i]);
}

std::vector<at::Tensor> run_code(CompiledCode& code, std::vector<at::Tensor> inputs,
                                 const StepDescription& description) {
  std::vector<at::Tensor> results = code.run(inputs);
  if (results.size() != description.results()) throw Error("the compiled step returned ", results.size(), " tensors");
  return results;
}

double relative(const at::Tensor& compiled, const at::Tensor& eager) {
  return largest(compiled - eager) / std::max(1.0, largest(eager));
}

/// Takes the largest of the differences; NaN too, which stays.
void take(double one, double& worst) {
  if (!(one <= worst) && !std::isnan(worst)) worst = one;
}

/// The tensors of a step, and how to run it.
struct Sides {
  const TracedParts& parts;
  const Batch& batch;
  const StepDescription& description;
  std::vector<StepInput> inputs;
  std::vector<at::Tensor> tensors = {}, parameters = {}, buffers = {};

  Sides(const TracedParts& parts_, const Batch& batch_, const StepDescription& description_)
      : parts(parts_), batch(batch_), description(description_), inputs(inputs_of_step(parts.module, batch)) {
    for (const StepInput& input : inputs) tensors.push_back(input.tensor.detach());
    for (const size_t index : description.gradients) parameters.push_back(inputs.at(index).tensor);
    buffers = copies_of_buffers(inputs);
  }
  /// Returns the loss and the gradients.
  std::vector<at::Tensor> eager() const {
    std::vector<at::Tensor> results = eager_results(parts, batch, parameters);
    put_back(inputs, buffers);
    return results;
  }
  /// Makes an eager step of the optimizer; returns the same.
  std::vector<at::Tensor> eager_step(optim::Optimizer& optimizer) const {
    std::vector<at::Tensor> results = eager();
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].mutable_grad() = results[1 + i].clone();
    optimizer.step();
    for (const at::Tensor& parameter : parameters) parameter.mutable_grad().reset();
    return results;
  }
  std::vector<at::Tensor> compiled(CompiledCode& code, const std::vector<at::Tensor>& further = {}) const {
    std::vector<at::Tensor> all = tensors;
    all.insert(all.end(), further.begin(), further.end());
    std::vector<at::Tensor> results = run_code(code, std::move(all), description);
    put_back(inputs, buffers);
    return results;
  }
};

StepDifference compare_gradients(const Sides& sides, CompiledCode& code) {
  const std::vector<at::Tensor> eager = sides.eager();
  const std::vector<at::Tensor> compiled = sides.compiled(code);
  const size_t first = sides.description.results() - sides.parameters.size();
  StepDifference difference = {.loss = relative(compiled[0], eager[0])};
  double scale = 0;
  for (size_t i = 0; i < sides.parameters.size(); ++i) {
    scale = std::max(scale, largest(eager[1 + i]));
    take(largest(compiled[first + i] - eager[1 + i]), difference.gradient);
  }
  if (scale > 0) difference.gradient /= scale;
  return difference;
}

StepDifference compare_changes(const Sides& sides, CompiledCode& code, StepOptimizer& optimizer) {
  const std::vector<at::Tensor>& parameters = sides.parameters;
  const std::vector<at::Tensor> begin = clones(parameters);
  sides.eager_step(optimizer.optimizer());
  const std::vector<at::Tensor> before = clones(parameters), state = optimizer.inputs(), state_before = clones(state);
  const std::vector<at::Tensor> compiled = sides.compiled(code, state);
  const std::vector<at::Tensor> after_compiled = clones(parameters);
  restore(parameters, before);
  restore(state, state_before);
  const std::vector<at::Tensor> eager = sides.eager_step(optimizer.optimizer());
  StepDifference difference = {.loss = relative(compiled[0], eager[0])};
  double scale = 0, largest_gradient = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    scale = std::max(scale, largest(parameters[i].detach() - before[i]));
    largest_gradient = std::max(largest_gradient, largest(eager[1 + i]));
  }
  constexpr double kClear = 1e-3;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor is_clear = eager[1 + i].abs() >= kClear * largest_gradient;
    take(largest((after_compiled[i] - parameters[i].detach()) * is_clear), difference.gradient);
  }
  if (scale > 0) difference.gradient /= scale;
  restore(parameters, begin);
  optimizer.optimizer().state().clear();
  return difference;
}

}  // namespace

StepDifference compare_with_eager(const TracedParts& parts, const Batch& batch, const StepDescription& description,
                                  CompiledCode& code, StepOptimizer* optimizer) {
  const Sides sides(parts, batch, description);
  return optimizer != nullptr ? compare_changes(sides, code, *optimizer) : compare_gradients(sides, code);
}

std::vector<at::Tensor> example_of_draws(const TracedParts& parts, const Batch& batch) {
  const GeneratorScope default_generator(at::Generator{});  // the one that Python has
  const RngGuard random_numbers;
  const std::vector<StepInput> inputs = inputs_of_step(parts.module, batch);
  std::vector<at::Tensor> example, parameters;
  for (const StepInput& input : inputs) {
    example.push_back(input.tensor.detach().clone());
    if (input.kind == InputKind::Parameter) parameters.push_back(input.tensor);
  }
  const std::vector<at::Tensor> buffers = copies_of_buffers(inputs);
  const at::Tensor before = at::detail::getDefaultCPUGenerator().get_state();
  const std::vector<at::Tensor> results = eager_results(parts, batch, parameters);
  put_back(inputs, buffers);
  if (at::equal(before, at::detail::getDefaultCPUGenerator().get_state())) return {};
  example.push_back(before);
  example.insert(example.end(), results.begin(), results.end());
  return example;
}

}  // namespace levin::compiled
