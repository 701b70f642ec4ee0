#include <levin/modules/program/program_writer.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/format/tensor_storages.h>
#include <levin/core/state/format/zip_writer.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/modules/program/argument_text.h>
#include <levin/modules/program/old_files.h>
#include <levin/modules/program/program_json.h>

#include <string_view>

namespace levin::program {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson input_spec(const Input& input) {
  const OrderedJson name = {{"name", input.value}};
  switch (input.kind) {
    case InputKind::Parameter:
      return {{"parameter", {{"arg", name}, {"parameter_name", input.target}}}};
    case InputKind::Buffer:
      return {{"buffer", {{"arg", name}, {"buffer_name", input.target}, {"persistent", input.persistent}}}};
    case InputKind::Constant:
      return {{"tensor_constant", {{"arg", name}, {"tensor_constant_name", input.target}}}};
    default:
      return {{"user_input", {{"arg", write_tensor_name(input.value)}}}};
  }
}

OrderedJson output_spec(const Output& output) {
  if (output.kind == OutputKind::BufferMutation)
    return {{"buffer_mutation", {{"arg", {{"name", output.value}}}, {"buffer_name", output.buffer}}}};
  return {{"user_output", {{"arg", write_tensor_name(output.value)}}}};
}

/// "L__self__,,Net;L__self___fc,fc,torch.nn.modules.linear.Linear"
std::string module_stack(const std::vector<std::pair<std::string, std::string>>& modules) {
  std::string text;
  for (const auto& [path, name] : modules) {
    std::string key = "L__self__";
    if (!path.empty()) key += "_" + path;
    for (char& c : key)
      if (c == '.') c = '_';
    text += (text.empty() ? "" : ";") + key + "," + path + "," + name;
  }
  return text;
}

OrderedJson node_of(const ExportedProgram& program, const Node& node, Layout layout) {
  constexpr int kPositional = 1, kKeyword = 2;
  OrderedJson inputs = OrderedJson::array(), outputs = OrderedJson::array(), metadata = OrderedJson::object();
  for (const Node::Input& input : node.inputs) {
    inputs.push_back({{"name", input.name}, {"arg", write_argument(program, input.value)}});
    if (layout == Layout::Archive) inputs.back()["kind"] = input.is_keyword ? kKeyword : kPositional;
  }
  for (const Node::Output& output : node.outputs) outputs.push_back(write_output(program, output));
  if (!node.modules.empty()) metadata["nn_module_stack"] = module_stack(node.modules);
  OrderedJson json = {{"target", node.target},
                      {"inputs", std::move(inputs)},
                      {"outputs", std::move(outputs)},
                      {"metadata", std::move(metadata)}};
  if (layout == Layout::Archive) {
    json["is_hop_single_tensor_return"] = nullptr;
    json["name"] = node.name;
  }
  return json;
}

OrderedJson graph_of(const ExportedProgram& program, Layout layout) {
  OrderedJson inputs = OrderedJson::array(), outputs = OrderedJson::array(), nodes = OrderedJson::array(),
              tensors = OrderedJson::object(), numbers = OrderedJson::object();
  for (const Input& input : program.inputs) inputs.push_back(write_tensor_name(input.value));
  for (const Output& output : program.outputs) outputs.push_back(write_tensor_name(output.value));
  for (const Node& node : program.nodes) nodes.push_back(node_of(program, node, layout));
  for (const auto& [name, meta] : program.tensors) tensors[name] = write_tensor_meta(meta, program.hints);
  for (const auto& [name, size] : program.numbers) numbers[name] = write_size(size, program.hints);
  return {{"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)},
          {"nodes", std::move(nodes)},
          {"tensor_values", std::move(tensors)},
          {"sym_int_values", std::move(numbers)},
          {"sym_bool_values", OrderedJson::object()},
          {"is_single_tensor_return", false},
          {"custom_obj_values", OrderedJson::object()},
          {"sym_float_values", OrderedJson::object()}};
}

OrderedJson signature_of(const ExportedProgram& program) {
  OrderedJson inputs = OrderedJson::array(), outputs = OrderedJson::array();
  for (const Input& input : program.inputs) inputs.push_back(input_spec(input));
  for (const Output& output : program.outputs) outputs.push_back(output_spec(output));
  return {{"input_specs", std::move(inputs)}, {"output_specs", std::move(outputs)}};
}

OrderedJson calls_of(const ExportedProgram& program) {
  OrderedJson calls = OrderedJson::array();
  calls.push_back({{"fqn", ""},
                   {"signature",
                    {{"inputs", OrderedJson::array()},
                     {"outputs", OrderedJson::array()},
                     {"in_spec", program.in_spec},
                     {"out_spec", program.out_spec},
                     {"forward_arg_names", program.argument_names}}}});
  for (const std::string& path : program.modules) calls.push_back({{"fqn", path}, {"signature", nullptr}});
  return calls;
}

OrderedJson bound(const std::optional<int64_t>& value) { return value ? OrderedJson(*value) : OrderedJson(); }

/// Writes the memory of tensors as records, and what the program is told of them.
class TensorRecords {
 public:
  /// The first `parameters` of the tensors are parameters. `record`: the names of records, without their numbers.
  TensorRecords(const ProgramTensors::Named& tensors, size_t parameters, std::string record)
      : record_(std::move(record)) {
    for (const auto& [name, tensor] : tensors) storages_.add(tensor);
    storages_.plan();
    for (size_t i = 0; i < tensors.size(); ++i) list(tensors[i].first, storages_.place(i), i < parameters);
  }

  void write(ZipWriter& writer, const std::string& folder, const AtomicFile& file) const {
    for (size_t i = 0; i < storages_.storages().size() && !file.has_failed(); ++i) {
      const at::Tensor bytes = storages_.storages()[i].cpu();
      const char* const data = bytes.numel() > 0 ? static_cast<const char*>(bytes.const_data_ptr()) : "";
      writer.add(folder + record_ + std::to_string(i), {data, bytes.nbytes()});
    }
  }
  std::string config() const { return OrderedJson{{"config", config_}}.dump(); }

 private:
  void list(const std::string& name, const TensorStorages::Place& place, bool is_parameter) {
    TensorMeta meta = meta_of(place.tensor, is_parameter && place.tensor.is_floating_point());
    meta.storage_offset = place.offset;
    meta.device = c10::kCPU;
    config_[name] = {{"path_name", record_ + std::to_string(place.storage)},
                     {"is_param", is_parameter},
                     {"use_pickle", false},
                     {"tensor_meta", write_tensor_meta(meta, {})}};
  }

  std::string record_;
  TensorStorages storages_ = {};
  OrderedJson config_ = OrderedJson::object();
};

void write_old(const std::filesystem::path& path, const ExportedProgram& program, const ProgramTensors& tensors,
               std::string example) {
  old_files::Contents contents{.program = program_text(program, Layout::Old), .example = std::move(example)};
  State constants = State::dict();
  contents.weights = State::dict();
  for (size_t i = 0; i < tensors.weights.size(); ++i) {
    const auto& [name, tensor] = tensors.weights[i];
    contents.weights[name] = tensor;
    if (i < tensors.parameters) contents.parameters.insert(name);
  }
  for (const auto& [name, tensor] : tensors.constants) constants[name] = tensor;
  contents.constants = save_state_bytes(constants);
  old_files::write(path, contents);
}

}  // namespace

std::string program_text(const ExportedProgram& program, Layout layout) {
  OrderedJson ranges = OrderedJson::object();
  for (const auto& [symbol, range] : program.ranges)
    ranges[symbol] = {{"min_val", bound(range.least)}, {"max_val", bound(range.most)}};
  const bool is_archive = layout == Layout::Archive;
  const int64_t minor = is_archive ? kSchemaMinor : old_files::kSchemaMinor;
  OrderedJson json = {{"graph_module",
                       {{"graph", graph_of(program, layout)},
                        {"signature", signature_of(program)},
                        {"module_call_graph", calls_of(program)},
                        {"metadata", OrderedJson::object()}}},
                      {"opset_version", {{"aten", 10}}},
                      {"range_constraints", std::move(ranges)},
                      {"schema_version", {{"major", kSchemaMajor}, {"minor", minor}}},
                      {"verifiers", {"TRAINING"}},
                      {"torch_version", TORCH_VERSION}};
  if (is_archive) {
    json["graph_module"]["treespec_namedtuple_fields"] = OrderedJson::object();
    json["guards_code"] = OrderedJson::array();
  }
  return json.dump();
}

void write_program(const std::filesystem::path& path, const ExportedProgram& program, const ProgramTensors& tensors,
                   Layout layout) {
  const at::NoGradGuard no_grad;
  State::Tuple example;
  for (const at::Tensor& input : tensors.example) example.items.emplace_back(input);
  const std::string example_file = save_state_bytes(State::Tuple{{std::move(example), State::dict()}});
  if (layout == Layout::Old) return write_old(path, program, tensors, example_file);
  const TensorRecords weights(tensors.weights, tensors.parameters, "weight_"),
      constants(tensors.constants, 0, "tensor_");
  const std::string text = program_text(program, layout);
  AtomicFile file(path);
  ZipWriter writer(path.stem().string(), [&](const void* data, size_t bytes) { file.write(data, bytes); });
  weights.write(writer, kWeightsFolder, file);
  writer.add(std::string(kWeightsFolder) + "model_weights_config.json", weights.config());
  constants.write(writer, kConstantsFolder, file);
  writer.add(std::string(kConstantsFolder) + "model_constants_config.json", constants.config());
  writer.add(kModelRecord, text);
  writer.add("data/sample_inputs/model.pt", example_file);
  writer.add("archive_format", "pt2");
  writer.add("archive_version", "0");
  writer.add(".data/version", "3\n");
  writer.add("byteorder", "little");
  writer.add(".data/serialization_id", writer.fingerprint());
  writer.finish();
  file.commit();
}

}  // namespace levin::program
