#include <levin/modules/export/export_program.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/system/error.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/export/bound_program.h>
#include <levin/modules/export/dynamic_sizes.h>
#include <levin/modules/export/function_recorder.h>
#include <levin/modules/export/onnx/export_onnx.h>
#include <levin/modules/export/program_of_graph.h>
#include <levin/modules/export/quantized_program.h>
#include <levin/modules/export/size_polynomial.h>
#include <levin/modules/export/symbolic_sizes.h>
#include <levin/modules/program/program_writer.h>
#include <nlohmann/json.hpp>

#include <map>
#include <utility>

namespace levin {
namespace {

using nlohmann::ordered_json;
using program::Entries, program::ExportedProgram, program::FunctionRecorder, program::RecordedProgram;

[[noreturn]] void refuse(const std::string& what) { throw UsageError("export: ", what); }

ordered_json leaf() { return {{"type", nullptr}, {"context", nullptr}, {"children_spec", ordered_json::array()}}; }

ordered_json node_of(const char* type, const ordered_json& context, size_t leaves) {
  ordered_json children = ordered_json::array();
  for (size_t i = 0; i < leaves; ++i) children.push_back(leaf());
  return {{"type", type}, {"context", context.dump()}, {"children_spec", std::move(children)}};
}

/// The structures of pytree, version 1: a call of positional arguments, and one tensor or a dict of them.
std::string in_spec(size_t inputs) {
  ordered_json call = node_of("builtins.tuple", nullptr, 0);
  call["children_spec"] = {node_of("builtins.tuple", nullptr, inputs),
                           node_of("builtins.dict", ordered_json::array(), 0)};
  return ordered_json{1, std::move(call)}.dump();
}
std::string out_spec(const std::vector<std::string>& outputs) {
  if (outputs.size() == 1 && outputs.front() == "input") return ordered_json{1, leaf()}.dump();
  return ordered_json{1, node_of("builtins.dict", outputs, outputs.size())}.dump();
}

/// Throws if two recordings have other constants.
void check_constants(const RecordedProgram& one, const RecordedProgram& other, const std::string& when) {
  bool are_same = one.constants.size() == other.constants.size();
  for (size_t i = 0; are_same && i < one.constants.size(); ++i)
    are_same = one.constants[i].second.sizes() == other.constants[i].second.sizes() &&
               at::equal(one.constants[i].second, other.constants[i].second);
  if (!are_same)
    refuse("C++ makes a tensor (from_blob, tensor, a buffer that is not registered) that is another one " + when +
           "; make it by operators of LibTorch, or register it as a buffer");
}

Entries resized(const Entries& inputs, const program::DynamicInputs& sizes, const std::vector<int64_t>& point) {
  return {inputs.names, sizes.resized(inputs.tensors, point)};
}

/// Returns other values of the same sizes: samples in another order, and real numbers moved.
Entries with_other_values(const Entries& inputs) {
  Entries others = inputs;
  for (at::Tensor& tensor : others.tensors) {
    if (tensor.dim() > 0) tensor = tensor.roll(1, 0).contiguous();
    if (tensor.is_floating_point()) tensor = tensor * 0.75 + 0.125;
  }
  return others;
}

}  // namespace

class ExportedNetwork::Impl {
 public:
  Impl(torch::nn::Module& module, const Batch& example, const ExportOptions& options) {
    const FunctionRecorder recorder(module, options);
    const Entries inputs = program::inputs_of_example(example);
    const RngGuard random_numbers;
    program::DynamicInputs sizes(options.dynamic, inputs.names, inputs.tensors);
    const Entries smallest = resized(inputs, sizes, sizes.base());
    FunctionRecorder::Recorded first = recorder.record(smallest);
    sizes.choose_places(first.reads);
    output_names = first.outputs;
    std::vector<ExportedProgram> recordings = {first.program};
    if (!sizes.symbols().empty()) {
      const auto points = program::SizePolynomial::points(sizes.base());
      for (size_t i = 1; i < points.size(); ++i) {
        RecordedProgram other = recorder.record(resized(inputs, sizes, points[i]));
        check_constants(first, other, "with other sizes");
        recordings.push_back(std::move(other.program));
      }
    }
    // A function that reads memory by itself is seen by what changes with the values.
    const RecordedProgram moved = recorder.record(with_other_values(smallest));
    check_constants(first, moved, "with other values");
    if (program::program_text(first.program) != program::program_text(moved.program))
      refuse(
          "the function does something else for other values: it computes with numbers that it reads from tensors, "
          "draws itself, or counts; compute with tensors (torch::where)");
    program_ = sizes.symbols().empty() ? std::move(recordings.front()) : symbolic(std::move(recordings), sizes);
    tensors_ = program::inputs_of_module(module).weights;
    tensors_.constants = std::move(first.constants);
    keep_inputs(inputs, first.reads);
    name_ = module.name();
    is_inference_ = options.inference;
    for (const program::Symbol& symbol : sizes.symbols())
      if (symbol.factor == 1) size_names_[symbol.name] = symbol.meaning;
    program_.in_spec = in_spec(input_names.size());
    program_.out_spec = out_spec(output_names);
    make_runnable();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) const {
    if (inputs.size() != input_names.size())
      refuse(c10::str("the network takes ", input_names.size(), " inputs, and was given ", inputs.size()));
    return runnable_->run(inputs);
  }

  void save(const std::filesystem::path& path) const { program::write_program(path, program_, tensors_); }

  void save_onnx(const std::filesystem::path& path, const OnnxOptions& options) const {
    if (!is_inference_) refuse("an ONNX model is recorded in evaluation; set options.inference");
    const onnx::ModelText text{name_, input_names, output_names, size_names_, options.metadata, options.class_names};
    onnx::write_model(path, onnx::model_of(program_, tensors_, text));
  }

  void quantize(const std::vector<Batch>& calibration) {
    if (!is_inference_) refuse("a network is quantized in evaluation; set options.inference");
    if (is_quantized_) refuse("the network is quantized already");
    std::vector<std::vector<at::Tensor>> batches;
    for (const Batch& batch : calibration) batches.push_back(inputs_of(batch));
    ExportedProgram rounded = program_;
    program::ProgramTensors tensors = tensors_;
    if (program::quantize(rounded, tensors, batches) == 0)
      refuse("the network has no weight of float32 in a linear layer, a convolution or an embedding to quantize");
    program_ = std::move(rounded);
    tensors_ = std::move(tensors);
    is_quantized_ = true;
    make_runnable();
  }

  std::vector<std::string> input_names, output_names;

 private:
  /// Drops the user's inputs that no node reads, which are the last ones.
  void keep_inputs(const Entries& inputs, const std::vector<bool>& reads) {
    const std::vector<program::Input> all = std::exchange(program_.inputs, {});
    const size_t first = all.size() - inputs.names.size();
    program_.inputs.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
    for (size_t i = 0; i < inputs.names.size(); ++i) {
      const program::Input& input = all[first + i];
      if (!reads[i]) {
        program_.tensors.erase(input.value);
        continue;
      }
      input_names.push_back(inputs.names[i]);
      tensors_.example.push_back(at::zeros_like(inputs.tensors[i]));  // the samples may be nobody's to give away
      program_.argument_names.push_back(input.value);
      program_.inputs.push_back(input);
    }
  }

  void make_runnable() {
    std::map<std::string, at::Tensor> known;
    for (const auto& named : {&tensors_.weights, &tensors_.constants}) known.insert(named->begin(), named->end());
    runnable_ = std::make_unique<program::BoundProgram>(program_, "the exported network", std::move(known));
  }

  std::vector<at::Tensor> inputs_of(const Batch& batch) const {
    std::vector<at::Tensor> tensors;
    for (const std::string& name : input_names) tensors.push_back(batch[name]);
    return tensors;
  }

  static ExportedProgram symbolic(std::vector<ExportedProgram> recordings, const program::DynamicInputs& sizes) {
    try {
      return program::with_symbols(std::move(recordings), sizes.symbols(), sizes.base());
    } catch (const UsageError& error) {
      refuse(error.what());
    }
  }

  ExportedProgram program_ = {};
  program::ProgramTensors tensors_ = {};
  std::string name_ = {};
  std::map<std::string, std::string> size_names_ = {};  ///< what symbols are called
  bool is_inference_ = false, is_quantized_ = false;
  std::unique_ptr<program::BoundProgram> runnable_ = {};
};

ExportedNetwork::ExportedNetwork(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExportedNetwork::~ExportedNetwork() = default;
ExportedNetwork::ExportedNetwork(ExportedNetwork&& other) noexcept = default;
ExportedNetwork& ExportedNetwork::operator=(ExportedNetwork&& other) noexcept = default;
const std::vector<std::string>& ExportedNetwork::input_names() const { return impl_->input_names; }
const std::vector<std::string>& ExportedNetwork::output_names() const { return impl_->output_names; }
std::vector<at::Tensor> ExportedNetwork::run(const std::vector<at::Tensor>& inputs) const { return impl_->run(inputs); }
void ExportedNetwork::save(const std::filesystem::path& path) const { impl_->save(path); }
void ExportedNetwork::save_onnx(const std::filesystem::path& path, const OnnxOptions& options) const {
  impl_->save_onnx(path, options);
}
void ExportedNetwork::quantize(const std::vector<Batch>& calibration) { impl_->quantize(calibration); }

ExportedNetwork export_program(torch::nn::Module& module, const Batch& example, const ExportOptions& options) {
  if (!options.function) refuse("options.function: missing; give the function of a batch that is exported");
  if (!adapted_layers(module).empty())
    refuse("the module has adapters, which no recording sees; call merge_adapters first");
  return ExportedNetwork(std::make_unique<ExportedNetwork::Impl>(module, example, options));
}

ExportedNetwork export_program(LightningModule& module, const Batch& example, const ExportOptions& options) {
  ExportOptions all = options;
  if (!all.function) all.function = [&](const Batch& batch) { return module.predict_step(batch, 0); };
  return export_program(static_cast<torch::nn::Module&>(module), example, all);
}

}  // namespace levin
