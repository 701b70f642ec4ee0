#include <levin/trainer/strategies/auto_microbatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>
#include <levin/core/device/out_of_memory.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/memory_use.h>
#include <levin/modules/autocast.h>
#include <levin/trainer/strategies/forward_snapshot.h>
#include <levin/trainer/strategies/gather_outputs.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <set>
#include <utility>

namespace levin {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::set<LoggedMetric*> metrics_of(const LightningModule& module, const std::vector<StepLog>& logs) {
  std::set<LoggedMetric*> metrics;
  for (const auto& [name, metric] : module.registered_metrics()) metrics.insert(metric);
  for (const StepLog& log : logs)
    for (const StepLog::Entry& entry : log.entries())
      if (entry.metric) metrics.insert(entry.metric.get());
  return metrics;
}

/// Returns whether the module's results depend on which samples are computed together.
bool mixes_samples(const torch::nn::Module& module) {
  for (const auto& part : module.modules(/*include_self=*/false))
    for (const char* kind : {"BatchNorm", "Dropout"})
      if (part->name().find(kind) != std::string::npos) return true;
  return false;
}

void add_to(std::vector<at::Tensor>& sums, std::vector<at::Tensor> gradients) {
  if (sums.empty()) sums.resize(gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    sums[i] = sums[i].defined() ? sums[i] + gradients[i] : std::move(gradients[i]);
  }
}

void multiply(std::vector<at::Tensor>& gradients, const at::Tensor& factor) {
  for (at::Tensor& gradient : gradients)
    if (gradient.defined()) gradient = gradient * factor.to(gradient.options());
}

/// Returns a part's weight in the mean: the one that its step returned, or else its number of samples.
at::Tensor weight_of(const StepOutput& output, int64_t samples, const at::TensorOptions& options) {
  if (output.weight_tensor.defined()) return output.weight_tensor.detach().to(options).reshape({});
  return at::scalar_tensor(output.weight.value_or(static_cast<double>(samples)), options);
}

}  // namespace

/// A batch between its forward and its backward.
struct AutoMicrobatch::Pass : torch::CustomClassHolder {
  AutoMicrobatch* strategy = nullptr;
  StepFunction* function = nullptr;
  Batch batch = {};
  int64_t batch_idx = 0;
  std::vector<StepLog> logs = {};
  std::optional<ForwardSnapshot> before = {};
  AutocastState autocast = {};
  at::Tensor loss = {};                    ///< of the whole batch, with its graph, if it was not split
  std::vector<at::Tensor> gradients = {};  ///< of the parts' mean loss, times `multiplier`, if it was split
  at::Tensor multiplier = {};              ///< the loss's incoming gradient for `gradients`
};

struct AutoMicrobatch::Backward : torch::autograd::Function<AutoMicrobatch::Backward> {
  static at::Tensor forward(AutogradContext* context, at::TensorList /*parameters*/, const at::Tensor& loss,
                            const c10::intrusive_ptr<Pass>& pass) {
    context->saved_data["pass"] = c10::IValue::make_capsule(pass);
    return loss.detach();
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto pass = c10::static_intrusive_pointer_cast<Pass>(context->saved_data["pass"].toCapsule());
    variable_list found = pass->strategy->gradients_of(*pass, gradients[0]);
    found.emplace_back();  // of the loss
    found.emplace_back();  // of the pass
    return found;
  }
};

void AutoMicrobatch::set_context(StepContext& context) {
  context_ = &context;
  ForwardingStrategy::set_context(context);
}

void AutoMicrobatch::place(LightningModule& module) {
  module_ = &module;
  ForwardingStrategy::place(module);
}

void AutoMicrobatch::attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) {
  ForwardingStrategy::attach(optimizers);
  if (!module_->automatic_optimization)
    throw UsageError("trainer.auto_microbatch: manual optimization splits its batches itself; set it to false");
}

/// Runs one step of the inner strategy, of the whole batch or a part of it, which logs to `sink`.
StepOutput AutoMicrobatch::forward(const Pass& pass, const Batch& batch, LogSink& sink) {
  LogSink* const before = std::exchange(context_->sink, &sink);
  try {
    StepOutput output = inner().run_step(*pass.function, batch, pass.batch_idx);
    context_->sink = before;
    return output;
  } catch (...) {
    context_->sink = before;
    throw;
  }
}

void AutoMicrobatch::split_further(const Batch& batch, const std::exception& error) {
  empty_device_cache();
  const int64_t samples = batch.size();
  if (parts_ >= samples)
    throw Error("out of memory with one sample at a time (a batch of ", samples,
                "): use a smaller model, activation_checkpointing or precision 16-mixed; ", error.what());
  const bool first = parts_ == 1;
  parts_ = std::min(2 * parts_, samples);
  std::string text = c10::str("a training step ran out of memory; from now on batches are split into ", parts_,
                              " parts (auto_microbatch)");
  if (first && mixes_samples(*module_)) text += "; BatchNorm and dropout then see the parts, and not the whole batch";
  console::warn(text);
}

/// Runs the whole batch forward, or each part forward and backward, with the loss multiplied by `gradient`.
StepOutput AutoMicrobatch::run_parts(Pass& pass, const at::Tensor& gradient, std::vector<StepLog>& logs) {
  const std::vector<Batch> parts = pass.batch.chunk(parts_);
  logs.assign(parts.size(), {});
  if (parts_ == 1) {
    logs[0].begin(pass.batch.size());
    StepOutput output = forward(pass, pass.batch, logs[0]);
    pass.loss = output.loss;
    return output;
  }
  std::vector<StepOutput> outputs;
  std::vector<int64_t> samples;
  std::vector<at::Tensor> sums;
  at::Tensor total;
  for (size_t i = 0; i < parts.size(); ++i) {
    samples.push_back(parts[i].size());
    logs[i].begin(samples.back());
    StepOutput& output = outputs.emplace_back(forward(pass, parts[i], logs[i]));
    if (!output.loss.defined()) continue;
    // Shares of the batch keep the numbers in their original range.
    const at::Tensor share = weight_of(output, samples.back(), gradient.options()) / pass.batch.size();
    total = total.defined() ? total + share : share;
    add_to(sums, torch::autograd::grad({output.loss}, parameters_, {(gradient * share).expand_as(output.loss)},
                                       /*retain_graph=*/std::nullopt, /*create_graph=*/false, /*allow_unused=*/true));
    output.loss = output.loss.detach();
  }
  if (total.defined()) multiply(sums, total.reciprocal());
  pass.gradients = std::move(sums);
  pass.multiplier = gradient;
  return gather_outputs(outputs, samples, device());
}

StepOutput AutoMicrobatch::run_step(StepFunction& function, const Batch& batch, int64_t batch_idx) {
  if (!function.can_run_parts()) return inner().run_step(function, batch, batch_idx);
  parameters_.clear();  // layers may have been unfrozen since the last step
  for (const at::Tensor& parameter : module_->parameters())
    if (parameter.requires_grad()) parameters_.push_back(parameter);
  auto pass = c10::make_intrusive<Pass>();
  pass->strategy = this;
  pass->function = &function;
  pass->batch = batch;
  pass->batch_idx = batch_idx;
  pass->before.emplace(*module_, metrics_of(*module_, {}));
  if (!last_gradient_.defined()) last_gradient_ = at::ones({}, at::device(device()));
  std::optional<StepOutput> output;
  while (!output) {
    try {
      output = run_parts(*pass, last_gradient_, pass->logs);
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error)) throw;
      pass->before->restore();
      split_further(batch, error);
    }
  }
  merge_logs(pass->logs, device(), *context_->sink);
  if (output->loss.defined()) output->loss = Backward::apply(at::TensorList(parameters_), output->loss.detach(), pass);
  return *output;
}

/// Returns the gradients of the batch's loss, for one backward. If the whole batch does not fit, runs its parts now.
std::vector<at::Tensor> AutoMicrobatch::gradients_of(Pass& pass, const at::Tensor& gradient) {
  last_gradient_ = at::where(gradient == 0, at::ones_like(gradient), gradient);
  if (!pass.gradients.empty()) {
    multiply(pass.gradients, gradient / pass.multiplier);
    return std::move(pass.gradients);
  }
  try {
    return torch::autograd::grad({std::exchange(pass.loss, at::Tensor())}, parameters_, {gradient},
                                 /*retain_graph=*/std::nullopt, /*create_graph=*/false, /*allow_unused=*/true);
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    split_further(pass.batch, error);
  }
  const ForwardSnapshot after_forward(*module_, metrics_of(*module_, pass.logs));
  const AutocastGuard autocast(pass.autocast);
  const at::AutoGradMode with_gradients(true);
  while (pass.gradients.empty()) {
    pass.before->restore();
    try {
      std::vector<StepLog> logged_already;
      run_parts(pass, gradient, logged_already);
    } catch (const std::exception& error) {
      if (!is_out_of_memory(error)) throw;
      split_further(pass.batch, error);
    }
  }
  after_forward.restore();
  return std::move(pass.gradients);
}

}  // namespace levin
