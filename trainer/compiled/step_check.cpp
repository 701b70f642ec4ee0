#include <levin/trainer/compiled/step_check.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/ScopeExit.h>
#include <levin/trainer/core/system/error.h>
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
  for (const at::Tensor& gradient : torch::autograd::grad({loss}, parameters)) results.push_back(gradient);
  return results;
}

}  // namespace

StepDifference compare_with_eager(const TracedParts& parts, const Batch& batch, const StepDescription& description,
                                  CompiledCode& code) {
  const std::vector<StepInput> inputs = inputs_of_step(parts.module, batch);
  std::vector<at::Tensor> tensors, parameters;
  for (const StepInput& input : inputs) tensors.push_back(input.tensor.detach());
  for (const size_t index : description.gradients) parameters.push_back(inputs.at(index).tensor);
  const std::vector<at::Tensor> buffers = copies_of_buffers(inputs);
  const std::vector<at::Tensor> eager = eager_results(parts, batch, parameters);
  put_back(inputs, buffers);
  const std::vector<at::Tensor> compiled = code.run(tensors);
  put_back(inputs, buffers);
  const size_t first = description.results() - parameters.size();
  if (compiled.size() != description.results()) throw Error("the compiled step returned ", compiled.size(), " tensors");
  StepDifference difference;
  difference.loss = largest(compiled[0] - eager[0]) / std::max(1.0, largest(eager[0]));
  double scale = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    scale = std::max(scale, largest(eager[1 + i]));
    const double one = largest(compiled[first + i] - eager[1 + i]);
    if (!(one <= difference.gradient)) difference.gradient = one;  // NaN too, which stays
    if (std::isnan(one)) break;
  }
  if (scale > 0) difference.gradient /= scale;
  return difference;
}

}  // namespace levin::compiled
