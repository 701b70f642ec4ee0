#include <levin/modules/program/program_json.h>
#include <levin/core/state/json_depth.h>
#include <levin/core/system/error.h>
#include <levin/modules/program/argument_json.h>
#include <levin/modules/program/inline_graph.h>
#include <levin/modules/program/node_names.h>

#include <torch/version.h>

#include <utility>

namespace levin::program {
namespace {

using Json = nlohmann::json;

/// "L__self__,,Net;L__self___fc,fc,torch.nn.modules.linear.Linear": key, path and class of each module.
std::vector<std::pair<std::string, std::string>> module_stack_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> modules;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    const std::string entry = text.substr(begin, end - begin);
    const size_t first = entry.find(','), last = entry.rfind(',');
    if (first != std::string::npos && first != last && entry.front() != '_')
      modules.emplace_back(entry.substr(first + 1, last - first - 1), entry.substr(last + 1));
    begin = end + 1;
  }
  return modules;
}

/// The last line of a stack trace: the code that made the node.
std::string source_line_of(const std::string& trace) {
  const size_t line = trace.rfind('\n');
  const std::string last = line == std::string::npos ? "" : trace.substr(line + 1);
  const size_t begin = last.find_first_not_of(' ');
  return begin == std::string::npos ? "" : last.substr(begin);
}

Node node_of(const Json& json) {
  Node node;
  node.target = json.at("target").get<std::string>();
  if (json.contains("name") && json["name"].is_string()) node.name = json["name"].get<std::string>();
  try {
    for (const Json& input : json.at("inputs"))
      node.inputs.push_back(
          {input.at("name").get<std::string>(), read_argument(input.at("arg")),
           input.contains("kind") && input["kind"].is_number_integer() && read_integer(input["kind"]) == 2});
    for (const Json& output : json.at("outputs")) node.outputs.push_back(read_output(output));
  } catch (const UsageError& error) {
    refuse("node '" + node.name + "' (" + node.target + "): " + error.what());
  }
  const Json& metadata = json.at("metadata");
  if (metadata.contains("nn_module_stack"))
    node.modules = module_stack_of(metadata["nn_module_stack"].get<std::string>());
  if (metadata.contains("stack_trace")) node.source_line = source_line_of(metadata["stack_trace"].get<std::string>());
  return node;
}

constexpr int kMostNested = 16;

std::string value_name_of(const Json& json) {
  const auto [kind, value] = read_union(json);
  if (kind == "as_tensor") return read_name(*value).text;
  if (kind == "as_sym_int" && value->contains("as_name")) return (*value)["as_name"].get<std::string>();
  refuse("a value of the kind '" + kind + "' goes into or out of a graph of its own");
}

/// What is around nodes.
struct Surroundings {
  std::optional<bool> gradients = {};
  AutocastRegions autocast = {};
  int depth = 0;
};

void add_nodes(ExportedProgram& program, const Json& nodes, const Surroundings& around);

/// Reads device, dtype and whether autocast is enabled. Whether casts are cached is not read: caching is off while
/// PyTorch exports, and on when a module runs.
std::shared_ptr<const AutocastRegion> autocast_region_of(const Json& inputs) {
  AutocastRegion region;
  const Json device = {{"as_device", {{"type", inputs.at(0).at("arg").at("as_string")}}}};
  region.device = std::get<c10::Device>(read_argument(device)).type();
  const Argument dtype = read_argument(inputs.at(1).at("arg"));
  if (const auto* number = std::get_if<EnumValue>(&dtype); number != nullptr && number->of == EnumValue::Of::Dtype)
    region.dtype = static_cast<at::ScalarType>(number->value);
  region.enabled = inputs.at(2).at("arg").at("as_bool").get<bool>();
  return std::make_shared<const AutocastRegion>(region);
}

/// What torch.no_grad, torch.enable_grad or torch.autocast surrounds: the nodes run in its mode, as if they stood in
/// the program.
void add_surrounded(ExportedProgram& program, const Json& json, size_t graph_at, Surroundings around) {
  if (++around.depth > kMostNested) refuse("graphs are nested too deeply");
  const Json& inputs = json.at("inputs");
  if (json.at("target") == kWithAutocast)
    around.autocast.push_back(autocast_region_of(inputs));
  else
    around.gradients = inputs.at(0).at("arg").at("as_bool").get<bool>();
  const Json& graph = inputs.at(graph_at).at("arg").at("as_graph").at("graph");
  std::vector<std::string> arguments, results;
  for (size_t i = graph_at + 1; i < inputs.size(); ++i) arguments.push_back(value_name_of(inputs.at(i).at("arg")));
  for (const Json& output : json.at("outputs"))
    for_each_name(read_output(output), [&](const std::string& name) { results.push_back(name); });
  ExportedProgram inner;
  add_nodes(inner, graph.at("nodes"), around);
  Subgraph subgraph{{}, {}, std::move(inner.nodes), std::move(inner.tensors)};
  for (const Json& input : graph.at("inputs")) subgraph.inputs.push_back(value_name_of(input));
  for (const Json& output : graph.at("outputs")) subgraph.outputs.push_back(value_name_of(output));
  for (const auto& [name, meta] : graph.at("tensor_values").items()) subgraph.tensors[name] = read_tensor_meta(meta);
  append_inlined(program, std::move(subgraph), arguments, results, json.value("name", std::string("graph")) + "/");
}

void add_nodes(ExportedProgram& program, const Json& nodes, const Surroundings& around) {
  for (const Json& json : nodes) {
    if (const size_t graph = inlined_input(json.at("target").get<std::string>()); graph != 0) {
      add_surrounded(program, json, graph, around);
      continue;
    }
    Node node = node_of(json);
    node.gradients = around.gradients;
    node.autocast = around.autocast;
    program.nodes.push_back(std::move(node));
  }
}

Input input_of(const Json& json) {
  const auto [kind, value] = read_union(json);
  Input input;
  if (kind == "user_input") {
    const auto [type, argument] = read_union(value->at("arg"));
    if (type == "as_tensor") {
      input.value = read_name(*argument).text;
    } else if (type == "as_sym_int" || type == "as_sym_float" || type == "as_sym_bool" || type == "as_custom_obj") {
      refuse("an input of forward is a number or an object that changes; give it as a tensor, or fix it at export");
    } else {
      input.kind = InputKind::UserConstant;
    }
  } else if (kind == "constant_input") {
    input.kind = InputKind::UserConstant;
    input.value = value->at("name").get<std::string>();
  } else if (kind == "parameter") {
    input = {InputKind::Parameter, read_name(value->at("arg")).text, value->at("parameter_name").get<std::string>()};
  } else if (kind == "buffer") {
    input = {InputKind::Buffer, read_name(value->at("arg")).text, value->at("buffer_name").get<std::string>(),
             value->at("persistent").get<bool>()};
  } else if (kind == "tensor_constant") {
    input = {InputKind::Constant, read_name(value->at("arg")).text,
             value->at("tensor_constant_name").get<std::string>(), false};
  } else {
    refuse("the program has an input of the kind '" + kind + "', which levin cannot make");
  }
  return input;
}

Output output_spec_of(const Json& json) {
  const auto [kind, value] = read_union(json);
  if (kind == "buffer_mutation")
    return {OutputKind::BufferMutation, read_name(value->at("arg")).text, value->at("buffer_name").get<std::string>()};
  if (kind == "loss_output") return {OutputKind::User, read_name(value->at("arg")).text, ""};
  if (kind == "user_output") {
    const auto [type, argument] = read_union(value->at("arg"));
    if (type == "as_tensor") return {OutputKind::User, read_name(*argument).text, ""};
    return {OutputKind::UserConstant, "", ""};
  }
  if (kind == "user_input_mutation") refuse("forward changes one of its inputs in place; let it work on a clone()");
  if (kind == "parameter_mutation") refuse("forward assigns a parameter, which only an optimizer may do");
  refuse("the program has an output of the kind '" + kind + "', which levin does not know");
}

void check_kind(const Json& json) {
  const Json& version = json.at("schema_version");
  if (const int64_t major = read_integer(version.at("major")); major != kSchemaMajor)
    refuse("PyTorch " + json.value("torch_version", std::string("of an unknown version")) + " wrote it in version " +
           std::to_string(major) + " of torch.export's schema, levin reads version " + std::to_string(kSchemaMajor) +
           "; export it with the PyTorch that levin is built with (" TORCH_VERSION "), or one near it");
  for (const Json& dialect : json.value("verifiers", Json::array()))
    if (dialect != "TRAINING")
      refuse(
          "decomposed for inference (run_decompositions, or torch.export.export of PyTorch before 2.6): such a program "
          "does not train; save what torch.export.export(model, example_inputs) returns, before any decomposition");
}

ExportedProgram program_of(const Json& json) {
  check_kind(json);
  ExportedProgram program;
  const Json& module = json.at("graph_module");
  const Json& graph = module.at("graph");
  for (const Json& spec : module.at("signature").at("input_specs")) program.inputs.push_back(input_of(spec));
  for (const Json& spec : module.at("signature").at("output_specs")) program.outputs.push_back(output_spec_of(spec));
  for (const auto& [name, meta] : graph.at("tensor_values").items()) program.tensors[name] = read_tensor_meta(meta);
  if (const auto numbers = graph.find("sym_int_values"); numbers != graph.end())
    for (const auto& [name, size] : numbers->items()) program.numbers[name] = read_size(size);
  add_nodes(program, graph.at("nodes"), {});
  for (const auto& [symbol, range] : json.at("range_constraints").items()) {
    Range& bounds = program.ranges[symbol];
    if (!range.at("min_val").is_null()) bounds.least = read_integer(range["min_val"]);
    if (!range.at("max_val").is_null()) bounds.most = read_integer(range["max_val"]);
  }
  for (const Json& entry : module.at("module_call_graph")) {
    const auto path = entry.at("fqn").get<std::string>();
    if (!path.empty()) program.modules.push_back(path);
    if (!path.empty() || !entry.contains("signature") || entry["signature"].is_null()) continue;
    const Json& signature = entry["signature"];
    program.in_spec = signature.at("in_spec").get<std::string>();
    program.out_spec = signature.at("out_spec").get<std::string>();
    if (signature.contains("forward_arg_names") && !signature["forward_arg_names"].is_null())
      program.argument_names = signature["forward_arg_names"].get<std::vector<std::string>>();
  }
  return program;
}

/// Calls `read` with the parsed text. Errors get the file's name.
template <class Read>
auto parsed(std::string_view text, const std::string& file, const Read& read) try {
  if (is_nested_deeper(text)) refuse("its JSON is nested too deeply");
  return read(Json::parse(text));
} catch (const Json::exception& error) {
  throw UsageError(file, ": damaged, or not a program of torch.export: ", error.what());
} catch (const UsageError& error) {
  throw UsageError(file, ": ", error.what());
}

}  // namespace

TensorMeta meta_of(const at::Tensor& tensor, bool requires_grad) {
  TensorMeta meta{.dtype = tensor.scalar_type(), .requires_grad = requires_grad, .device = tensor.device()};
  for (const int64_t size : tensor.sizes()) meta.sizes.emplace_back(size);
  for (const int64_t stride : tensor.strides()) meta.strides.emplace_back(stride);
  return meta;
}

ExportedProgram parse_program(std::string_view json, const std::string& file) { return parsed(json, file, program_of); }

std::map<std::string, StoredTensor> parse_stored_tensors(std::string_view text, const std::string& file) {
  return parsed(text, file, [](const Json& json) {
    std::map<std::string, StoredTensor> tensors;
    for (const auto& [name, entry] : json.at("config").items()) {
      if (entry.at("use_pickle").get<bool>() || entry.at("tensor_meta").is_null())
        refuse("'" + name + "' is an object of Python or a subclass of Tensor; levin trains plain tensors");
      tensors.emplace(name, StoredTensor{entry.at("path_name").get<std::string>(), entry.at("is_param").get<bool>(),
                                         read_tensor_meta(entry["tensor_meta"])});
    }
    return tensors;
  });
}

}  // namespace levin::program
