#include <levin/trainer/compiled/step_trace.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <c10/util/ScopeExit.h>
#include <levin/core/device/own_generator.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/state/format/python_dtypes.h>
#include <levin/core/system/error.h>
#include <levin/data/download/sha256.h>
#include <levin/data/loading/batch_tensors.h>
#include <levin/modules/recording/record.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

namespace levin::compiled {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse_step(const std::string& what) {
  throw UsageError("trainer.compiled_step: ", what, "; leave compiled_step unset");
}

void check_log(const StepLog& log) {
  for (const StepLog::Entry& entry : log.entries()) {
    if (entry.metric)
      refuse_step("log('" + entry.name +
                  "') of a metric, whose state a compiled step does not count on; log it in on_train_batch_end");
    if (!entry.tensor.defined())
      refuse_step("log('" + entry.name + "') of a number: a compiled step would log it again as it was; log a tensor");
    if (entry.options.batch_size)
      refuse_step("log('" + entry.name + "') with a batch_size, which a compiled step cannot compute; leave it unset");
  }
}

/// Refuses a graph whose backward is not that of its operators: the trace has the operators alone.
void check_graph(const at::Tensor& loss) {
  std::unordered_set<torch::autograd::Node*> known;
  std::vector<torch::autograd::Node*> next = {loss.grad_fn().get()};
  while (!next.empty()) {
    torch::autograd::Node* const node = next.back();
    next.pop_back();
    if (node == nullptr || !known.insert(node).second) continue;
    const std::string name = node->name();
    const bool is_leaf = node->num_outputs() == 0;  // the accumulator of a parameter's gradient
    if (name.find("CppNode") != std::string::npos || name.find("CppFunction") != std::string::npos)
      refuse_step("training_step calls " + name +
                  ", an autograd function of C++, whose backward a trace does not show");
    if (!is_leaf && (!node->tensor_pre_hooks().empty() || !node->pre_hooks().empty() || !node->post_hooks().empty()))
      refuse_step("training_step sets a hook on a tensor, which a compiled step would not call");
    for (const torch::autograd::Edge& edge : node->next_edges()) next.push_back(edge.function.get());
  }
}

std::vector<at::Tensor> tensors_of(const std::vector<StepInput>& inputs) {
  std::vector<at::Tensor> tensors;
  for (const StepInput& input : inputs) tensors.push_back(input.tensor);
  return tensors;
}

/// Keeps the values of the buffers of a step, and says which of them have changed.
class BuffersBefore {
 public:
  explicit BuffersBefore(std::vector<StepInput>& inputs) {
    for (StepInput& input : inputs)
      if (input.kind == InputKind::Buffer) kept_.emplace_back(&input, input.tensor.clone());
  }
  BuffersBefore(const BuffersBefore&) = delete;
  BuffersBefore& operator=(const BuffersBefore&) = delete;
  ~BuffersBefore() {
    const at::NoGradGuard no_grad;
    for (auto& [input, before] : kept_) {
      if (at::equal(input->tensor, before)) continue;
      input->is_written = true;
      input->tensor.copy_(before);
    }
  }

 private:
  std::vector<std::pair<StepInput*, at::Tensor>> kept_ = {};
};

StepOutput step_of(const TracedParts& parts, const Batch& batch, int64_t batch_idx) {
  StepOutput output;
  parts.precision.forward_context([&] { output = parts.module.training_step(batch, batch_idx); });
  if (!output.loss.defined() || output.loss.numel() != 1 || !output.loss.requires_grad())
    refuse_step("training_step must return a loss of one element, with a gradient, for each batch");
  if (output.weight)
    refuse_step("training_step returns its weight as a number, which a compiled step cannot compute; return a tensor");
  check_graph(output.loss);
  return output;
}

/// Records the graph of `run`, a function of `inputs`.
std::shared_ptr<torch::jit::Graph> record(const std::vector<at::Tensor>& inputs,
                                          const std::function<torch::jit::Stack()>& run) {
  const recording::Recording recorded = recording::record(inputs, run);
  if (!recorded.failure.empty()) refuse_step("LibTorch's tracer cannot follow training_step: " + recorded.failure);
  if (recorded.read)
    refuse_step(
        "training_step computes with what it reads from tensors in C++ (item(), an if: " + *recorded.read +
        "), which a compiled step would take from the first batch for all; compute with tensors (torch::where)");
  return recorded.graph;
}

}  // namespace

std::vector<StepInput> inputs_of_step(const LightningModule& module, const Batch& batch) {
  if (batch.is_own()) refuse_step("a batch of the program's own type is no list of tensors");
  std::vector<StepInput> inputs;
  std::unordered_set<const at::TensorImpl*> known;
  const auto add = [&](const std::string& name, InputKind kind, const at::Tensor& tensor) {
    if (tensor.defined() && known.insert(tensor.unsafeGetTensorImpl()).second) inputs.push_back({name, kind, tensor});
  };
  for (const auto& item : module.named_parameters())
    add(item.key(), item.value().requires_grad() ? InputKind::Parameter : InputKind::Frozen, item.value());
  for (const auto& item : module.named_buffers()) add(item.key(), InputKind::Buffer, item.value());
  for_each_tensor(batch, [&](const std::string& name, const at::Tensor& tensor) {
    if (name.find('[') != std::string::npos)
      refuse_step("the batch has a list, " + name + "; a compiled step takes tensors");
    add(name, InputKind::Batch, tensor);
  });
  return inputs;
}

StepTrace trace_step(const TracedParts& parts, const Batch& batch, int64_t batch_idx) {
  const GeneratorScope default_generator(at::Generator{});  // the tracer knows no operator that is given one
  const RngGuard random_numbers;
  StepTrace trace;
  trace.inputs = inputs_of_step(parts.module, batch);
  const BuffersBefore buffers(trace.inputs);
  trace.log.begin(batch.size(), /*reads_cpu=*/false);
  LogSink* const sink = std::exchange(parts.context.sink, &trace.log);
  const auto as_before = c10::make_scope_exit([&] { parts.context.sink = sink; });
  const std::vector<at::Tensor> tensors = tensors_of(trace.inputs);
  const auto graph = record(tensors, [&]() -> torch::jit::Stack {
    const StepOutput output = step_of(parts, batch, batch_idx);
    check_log(trace.log);
    torch::jit::Stack results = {output.loss};
    trace.has_weight = output.weight_tensor.defined();
    if (trace.has_weight) results.emplace_back(output.weight_tensor);
    for (const StepLog::Entry& entry : trace.log.entries()) results.emplace_back(entry.tensor);
    return results;
  });
  trace.graph = operators_of(*graph, tensors);
  return trace;
}

std::string StepTrace::digest() const {
  std::string text;
  for (const StepInput& input : inputs)
    text += c10::str(input.name, ' ', to_string(input.kind), ' ', toString(input.tensor.scalar_type()),
                     input.tensor.sizes(), input.tensor.strides(), '\n');
  text += graph.calls.dump() + graph.outputs.dump() + (has_weight ? "weight" : "");
  for (const StepLog::Entry& entry : log.entries()) text += '\n' + entry.name;
  for (const at::Tensor& constant : graph.constants) {
    const at::Tensor values = constant.cpu().contiguous();
    text += c10::str('\n', toString(values.scalar_type()), values.sizes());
    text.append(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
  }
  return data::sha256_of_bytes(text);
}

}  // namespace levin::compiled
