#include <levin/modules/export/function_recorder.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/device/own_generator.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/system/error.h>
#include <levin/modules/recording/record.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cstddef>

namespace levin::program {
namespace {

[[noreturn]] void refuse_export(const std::string& what) { throw UsageError("export: ", what); }

Entries entries_of(const Batch& batch, const char* what) {
  if (batch.is_own()) refuse_export(std::string(what) + " of the program's own type is no list of tensors");
  Entries entries;
  for (const std::string& name : batch.names()) {
    if (batch.is_list(name))
      refuse_export(std::string(what) + " has a list, " + name + "; a program takes and returns tensors");
    entries.names.push_back(name);
    entries.tensors.push_back(batch[name]);
  }
  if (entries.names.empty()) refuse_export(std::string(what) + " has no tensor");
  return entries;
}

}  // namespace

Batch Entries::batch() const {
  Batch batch;
  for (size_t i = 0; i < names.size(); ++i) batch.set(names[i], tensors[i]);
  return batch;
}

Entries inputs_of_example(const Batch& example) {
  Entries inputs = entries_of(example, "the example");
  for (size_t i = inputs.names.size(); i-- > 0;) {
    inputs.tensors[i] = inputs.tensors[i].detach().contiguous();
    if (inputs.names[i] != "target" || inputs.names.size() == 1) continue;
    inputs.names.erase(inputs.names.begin() + static_cast<std::ptrdiff_t>(i));
    inputs.tensors.erase(inputs.tensors.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return inputs;
}

FunctionRecorder::FunctionRecorder(torch::nn::Module& module, const ExportOptions& options)
    : module_(module), options_(options), modes_(module) {
  for (const at::Tensor& buffer : module.buffers())
    if (buffer.defined()) buffers_.emplace_back(buffer, buffer.clone());
  module.train(!options.inference);
}

FunctionRecorder::~FunctionRecorder() {
  restore_buffers();
  modes_.restore();
}

void FunctionRecorder::restore_buffers() const {
  const at::NoGradGuard no_grad;
  for (const auto& [buffer, before] : buffers_) at::Tensor(buffer).copy_(before);
}

Entries FunctionRecorder::call(const Entries& inputs) const {
  return entries_of(options_.function(inputs.batch()), "the result");
}

FunctionRecorder::Recorded FunctionRecorder::record(const Entries& inputs) const {
  const at::AutoGradMode gradients(!options_.inference);
  const GeneratorScope default_generator(at::Generator{});  // the tracer knows no operator that is given one
  const RngGuard random_numbers;
  RecordedInputs recorded = inputs_of_module(module_);
  for (size_t i = 0; i < inputs.names.size(); ++i) add_user_input(recorded, inputs.names[i], inputs.tensors[i]);
  Recorded result;
  const recording::Recording recording = recording::record(recorded.tensors, [&]() -> torch::jit::Stack {
    const Entries results = call(inputs);
    result.outputs = results.names;
    return torch::jit::Stack(results.tensors.begin(), results.tensors.end());
  });
  restore_buffers();
  if (!recording.failure.empty()) call(inputs);  // whose own error says more
  if (!recording.failure.empty()) refuse_export("LibTorch's tracer cannot follow the function: " + recording.failure);
  if (recording.read)
    refuse_export("the function reads " + *recording.read +
                  " (item(), an if), which a program would have as it was in the example; compute with tensors "
                  "(torch::where)");
  for (size_t i = 0; i < inputs.names.size(); ++i) {
    const auto* const value = recording.graph->inputs()[recorded.inputs.size() - inputs.names.size() + i];
    result.reads.push_back(value->hasUses());
  }
  try {
    static_cast<RecordedProgram&>(result) = program_of_graph(*recording.graph, recorded, options_.inference);
  } catch (const UsageError& error) {
    refuse_export(std::string("the function ") + error.what());
  }
  return result;
}

}  // namespace levin::program
