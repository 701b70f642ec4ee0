#include <levin/callbacks/terminate_on_nan.h>
#include <ATen/ops/stack.h>
#include <levin/core/system/error.h>
#include <levin/data/batch.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/observers/finite_watch.h>
#include <levin/modules/parallel/ranks/parameter_gradients.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/optim/optimizer.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace levin {
namespace {

bool is_finite_batch(const Batch& batch) {
  if (batch.is_own()) return true;
  for (const std::string& name : batch.names())
    if (!batch.is_list(name) && !is_finite(batch[name])) return false;
  return true;
}

/// Returns what was not finite before the forward pass.
std::string found_before(Run& run) {
  if (!is_finite_batch(run.batch())) return "; the batch itself has values that are not finite";
  for (const auto& item : run.module().named_parameters())
    if (!is_finite(item.value()))
      return "; the parameter " + item.key() +
             " was not finite before: an earlier step's gradient was not, which check_gradients finds";
  return "";
}

/// Runs the batch again. Under manual optimization that would step, and only what is there is looked at.
std::string first_output(Run& run) {
  const std::string before = found_before(run);
  if (!run.module().automatic_optimization) return before;
  FiniteWatch watch(run.module());
  run.module().training_step(run.batch(), run.batch_idx());
  if (watch.first_output()) return "; the first output that is not finite: " + *watch.first_output() + before;
  return "; when the batch ran again, without autocast, all outputs were finite" + before;
}

std::string first_gradient(Run& run) {
  if (!run.module().automatic_optimization) return "";
  const at::AutoGradMode with_gradients(true);
  FiniteWatch watch(run.module(), /*gradients=*/true);
  const at::Tensor loss = run.module().training_step(run.batch(), run.batch_idx()).loss;
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& parameter : run.module().parameters())
    if (parameter.requires_grad()) parameters.push_back(parameter);
  torch::autograd::grad({loss}, parameters, {}, /*retain_graph=*/std::nullopt, /*create_graph=*/false,
                        /*allow_unused=*/true);
  return watch.first_gradient() ? "; the first output whose gradient is not finite: " + *watch.first_gradient() : "";
}

/// Returns the last of the parameters whose gradient is not finite: backward met it first.
std::string name_of_gradient(const LightningModule& module,
                             const std::vector<std::pair<std::string, at::Tensor>>& largest) {
  std::set<std::string> names;
  for (const auto& [name, norm] : largest)
    if (!is_finite(norm)) names.insert(name);
  std::string last;
  for (const std::string& name : module.named_parameters().keys())
    if (names.contains(name)) last = name;
  return last;
}

}  // namespace

void TerminateOnNaN::on_before_backward(Run& run, at::Tensor& /*loss*/) {
  // The loss that the hook gets is scaled. Elsewhere the look at it would wait for the device.
  if (!run.module().automatic_optimization) return;
  const at::Tensor& loss = run.output().loss;
  if (!loss.is_cpu() || is_finite(loss)) return;
  throw Error("TerminateOnNaN: the loss was NaN or infinite in step ", run.state().global_step + 1, first_output(run),
              "; the run ends here");
}

void TerminateOnNaN::on_before_optimizer_step(Run& run, torch::optim::Optimizer& optimizer) {
  if (!options_.check_gradients) return;
  const at::NoGradGuard no_grad;
  const auto largest = gradient_norms(run.module(), optimizer, std::numeric_limits<double>::infinity());
  std::vector<at::Tensor> values;
  for (const auto& [of_parameter, norm] : largest) values.push_back(norm);
  if (values.empty() || std::isfinite(at::stack(values).sum().item<double>())) return;  // host sync
  const std::string name = name_of_gradient(run.module(), largest);
  if (name.empty()) return;  // the sum overflowed, but no gradient did
  throw Error("TerminateOnNaN: the gradient of ", name, " was NaN or infinite in step ", run.state().global_step + 1,
              first_gradient(run), "; the run ends here");
}

void TerminateOnNaN::on_train_batch_end(Run& run) {
  if (const auto step = run.non_finite_step())
    throw Error("TerminateOnNaN: the loss was NaN or infinite in step ", *step, first_output(run),
                "; the run ends here");
}

}  // namespace levin
