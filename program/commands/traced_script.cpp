#include <levin/program/commands/traced_script.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <levin/core/system/error.h>
#include <levin/data/loading/batch_tensors.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <cctype>
#include <memory>
#include <utility>
#include <vector>

namespace levin::cli {
namespace {

using torch::jit::Stack;

/// Returns a script module with the parameters, buffers and parts of `module`.
torch::jit::Module shell_of(const torch::nn::Module& module, const std::shared_ptr<torch::jit::CompilationUnit>& unit,
                            std::string path) {
  for (char& c : path)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';  // it becomes the name of a class
  torch::jit::Module shell(c10::QualifiedName("__torch__.levin." + path), unit, /*shouldMangle=*/true);
  shell.register_attribute("training", c10::BoolType::get(), false);
  for (const auto& item : module.named_parameters(/*recurse=*/false))
    shell.register_parameter(item.key(), item.value(), /*is_buffer=*/false);
  for (const auto& item : module.named_buffers(/*recurse=*/false))
    if (item.value().defined()) shell.register_parameter(item.key(), item.value(), /*is_buffer=*/true);
  for (const auto& item : module.named_children())
    shell.register_module(item.key(), shell_of(*item.value(), unit, path + "_" + item.key()));
  return shell;
}

/// What is recorded: a module, behind what makes its batches.
struct Prediction {
  LightningModule& module;
  const std::function<Batch(const Batch&)>& prepare;

  at::Tensor operator()(const Batch& batch) const;
};

at::Tensor Prediction::operator()(const Batch& batch) const {
  const Batch prediction = module.predict_step(prepare(batch), 0);
  if (prediction.is_own() || prediction.names() != std::vector<std::string>{"input"} || prediction.is_list("input"))
    throw UsageError("levin export: predict_step returns several values, and a script returns one tensor");
  return prediction.input();
}

/// The entries of a batch, without the target.
struct Entries {
  std::vector<std::string> names = {};
  std::vector<at::Tensor> tensors = {};
};

Entries entries_of_batch(const Batch& batch) {
  if (batch.is_own()) throw UsageError("levin export: a batch of the program's own type is no list of tensors");
  Entries entries;
  for (const std::string& name : batch.names()) {
    if (name == "target") continue;
    if (batch.is_list(name)) throw UsageError("levin export: the batch has a list, ", name, "; a script takes tensors");
    entries.names.push_back(name);
    entries.tensors.push_back(batch[name].contiguous());
  }
  return entries;
}

Batch batch_of(const Entries& entries, const std::vector<at::Tensor>& tensors) {
  Batch batch;
  for (size_t i = 0; i < tensors.size(); ++i) batch.set(entries.names[i], tensors[i]);
  return batch;
}

/// Removes inputs that predict_step does not read; returns the indices of the others.
std::vector<size_t> drop_unused(torch::jit::Graph& graph, size_t count) {
  std::vector<size_t> used;
  for (size_t i = count; i-- > 0;) {
    if (graph.inputs()[i + 1]->hasUses())
      used.insert(used.begin(), i);
    else
      graph.eraseInput(i + 1);
  }
  return used;
}

/// Returns how the script differs from predict_step on these tensors; empty if it does not.
std::string difference(const Prediction& prediction_of, torch::jit::Module& script, const Entries& entries,
                       const std::vector<at::Tensor>& tensors, const std::vector<size_t>& used) {
  const at::Tensor expected = prediction_of(batch_of(entries, tensors));
  try {
    Stack arguments;
    for (const size_t i : used) arguments.emplace_back(tensors[i]);
    const at::Tensor got = script.forward(std::move(arguments)).toTensor();
    if (got.sizes() != expected.sizes())
      return c10::str("its result is ", got.sizes(), " in place of ", expected.sizes());
    constexpr double kRelative = 1e-4, kAbsolute = 1e-5;
    return at::allclose(got, expected, kRelative, kAbsolute, /*equal_nan=*/true) ? "" : "its values are others";
  } catch (const std::exception& error) {
    return message_of(error).substr(0, message_of(error).find('\n'));
  }
}

}  // namespace

TracedScript trace_predict_step(LightningModule& module, const Batch& example,
                                const std::function<Batch(const Batch&)>& prepare) {
  const at::NoGradGuard no_grad;
  module.eval();
  const Entries entries = entries_of_batch(example);
  const Prediction prediction_of{module, prepare};
  prediction_of(batch_of(entries, entries.tensors));  // whose errors say more than the tracer's
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  TracedScript traced{.script = shell_of(module, unit, "Module")};
  // TorchScript's own fusion would hide operators from the tracer.
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  std::shared_ptr<torch::jit::Graph> graph;
  try {
    const Stack inputs(entries.tensors.begin(), entries.tensors.end());
    const auto run = [&](const Stack& stack) -> Stack {
      std::vector<at::Tensor> tensors;
      for (const c10::IValue& value : stack) tensors.push_back(value.toTensor());
      return {prediction_of(batch_of(entries, tensors))};
    };
    const auto name = [](const at::Tensor&) { return std::string(); };
    graph = torch::jit::tracer::trace(inputs, run, name, /*strict=*/true, /*force_outplace=*/false, &traced.script,
                                      entries.names)
                .first->graph;
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    throw UsageError("levin export: LibTorch's tracer cannot follow predict_step: ", message_of(error));
  }
  const std::vector<size_t> used = drop_unused(*graph, entries.tensors.size());
  const auto function =
      unit->create_function(c10::QualifiedName(*traced.script.type()->name(), "forward"), std::move(graph));
  traced.script.type()->addMethod(function);
  if (const std::string what = difference(prediction_of, traced.script, entries, entries.tensors, used); !what.empty())
    throw UsageError("levin export: the script of predict_step does not compute what predict_step does: ", what,
                     "; does it draw random numbers, or choose by the values of tensors?");
  std::vector<at::Tensor> more;
  for (const at::Tensor& tensor : entries.tensors) more.push_back(at::cat({tensor, tensor.narrow(0, 0, 1)}));
  traced.why_fixed = difference(prediction_of, traced.script, entries, more, used);
  return traced;
}

}  // namespace levin::cli
