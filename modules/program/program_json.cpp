#include <levin/modules/program/program_json.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <levin/modules/program/inline_graph.h>
#include <levin/trainer/core/system/error.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin::program {
namespace {

using Json = nlohmann::json;

constexpr int64_t kSchemaMajor = 8;

[[noreturn]] void fail(const std::string& what) { throw UsageError(what); }

int64_t integer(const Json& json) {
  if (!json.is_number_integer()) fail("a whole number was expected, this is " + std::string(json.type_name()));
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    fail("a number is beyond 64 bits");
  return json.get<int64_t>();
}

double real(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  fail("'" + text + "' is no number");
}

/// A union of the schema is an object with one key, which names the type.
std::pair<std::string, const Json*> of_union(const Json& json) {
  if (!json.is_object() || json.size() != 1) fail("an object with one key was expected");
  return {json.begin().key(), &json.begin().value()};
}

at::ScalarType dtype_of(int64_t number) {
  // The numbers of the schema's enum ScalarType.
  static const std::map<int64_t, at::ScalarType> types = {
      {1, at::kByte},        {2, at::kChar},          {3, at::kShort},          {4, at::kInt},
      {5, at::kLong},        {6, at::kHalf},          {7, at::kFloat},          {8, at::kDouble},
      {9, at::kComplexHalf}, {10, at::kComplexFloat}, {11, at::kComplexDouble}, {12, at::kBool},
      {13, at::kBFloat16},   {28, at::kUInt16},       {33, at::kUInt32},        {34, at::kUInt64}};
  const auto found = types.find(number);
  if (found == types.end())
    fail("a tensor has a dtype (number " + std::to_string(number) + ") that levin does not train with");
  return found->second;
}

int64_t layout_of(int64_t number) {
  if (number != 7) fail("a tensor is sparse or of another layout; levin trains with strided ones");
  return static_cast<int64_t>(c10::Layout::Strided);
}

int64_t memory_format_of(int64_t number) {
  switch (number) {
    case 1:
      return static_cast<int64_t>(c10::MemoryFormat::Contiguous);
    case 2:
      return static_cast<int64_t>(c10::MemoryFormat::ChannelsLast);
    case 3:
      return static_cast<int64_t>(c10::MemoryFormat::ChannelsLast3d);
    case 4:
      return static_cast<int64_t>(c10::MemoryFormat::Preserve);
    default:
      fail("there is no memory format with the number " + std::to_string(number));
  }
}

c10::Device device_of(const Json& json) {
  std::string text = json.at("type").get<std::string>();
  if (json.contains("index") && !json["index"].is_null()) text += ":" + std::to_string(integer(json["index"]));
  try {
    return c10::Device(text);
  } catch (const c10::Error&) {
    fail("there is no device '" + text + "'");
  }
}

Size size_of(const Json& json) {
  const auto [kind, value] = of_union(json);
  if (kind == "as_int") return integer(*value);
  return value->at("expr_str").get<std::string>();
}

TensorMeta tensor_meta_of(const Json& json) {
  TensorMeta meta;
  meta.dtype = dtype_of(integer(json.at("dtype")));
  for (const Json& size : json.at("sizes")) meta.sizes.push_back(size_of(size));
  for (const Json& stride : json.at("strides")) meta.strides.push_back(size_of(stride));
  const Size offset = size_of(json.at("storage_offset"));
  if (const auto* number = std::get_if<int64_t>(&offset)) meta.storage_offset = *number;
  meta.requires_grad = json.at("requires_grad").get<bool>();
  meta.device = device_of(json.at("device"));
  layout_of(integer(json.at("layout")));
  return meta;
}

Name name_of(const Json& json) { return {json.at("name").get<std::string>()}; }

std::vector<Name> names_of(const Json& list) {
  std::vector<Name> names;
  for (const Json& item : list) names.push_back(name_of(item));
  return names;
}

/// One of SymIntArgument, SymFloatArgument, SymBoolArgument.
NumberOrName number_or_name_of(const Json& json) {
  const auto [kind, value] = of_union(json);
  if (kind == "as_name") return Name{value->get<std::string>()};
  if (kind == "as_int") return integer(*value);
  if (kind == "as_float") return real(*value);
  if (kind == "as_bool") return value->get<bool>();
  fail("'" + kind + "' is no number");
}

Argument argument_of(const NumberOrName& value) {
  return std::visit([](const auto& held) { return Argument(held); }, value);
}

std::optional<Name> optional_name_of(const Json& json) {
  const auto [kind, value] = of_union(json);
  if (kind == "as_none") return std::nullopt;
  if (kind == "as_tensor") return name_of(*value);
  fail("'" + kind + "' where a tensor or none was expected");
}

Argument argument_of(const Json& json) {
  const auto [kind, value] = of_union(json);
  if (kind == "as_none") return std::monostate();
  if (kind == "as_tensor") return name_of(*value);
  if (kind == "as_tensors") return names_of(*value);
  if (kind == "as_int") return integer(*value);
  if (kind == "as_float") return real(*value);
  if (kind == "as_bool") return value->get<bool>();
  if (kind == "as_string") return value->get<std::string>();
  if (kind == "as_scalar_type") return EnumValue{static_cast<int64_t>(dtype_of(integer(*value))), EnumValue::Of::Dtype};
  if (kind == "as_memory_format") return EnumValue{memory_format_of(integer(*value)), EnumValue::Of::MemoryFormat};
  if (kind == "as_layout") return EnumValue{layout_of(integer(*value)), EnumValue::Of::Layout};
  if (kind == "as_device") return device_of(*value);
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool")
    return argument_of(number_or_name_of(*value));
  if (kind == "as_optional_tensor") {
    const auto name = optional_name_of(*value);
    return name ? Argument(*name) : Argument();
  }
  if (kind == "as_optional_tensors") {
    std::vector<std::optional<Name>> names;
    for (const Json& item : *value) names.push_back(optional_name_of(item));
    return names;
  }
  std::vector<NumberOrName> numbers;
  if (kind == "as_ints") {
    for (const Json& item : *value) numbers.emplace_back(integer(item));
  } else if (kind == "as_floats") {
    for (const Json& item : *value) numbers.emplace_back(real(item));
  } else if (kind == "as_bools") {
    for (const Json& item : *value) numbers.emplace_back(item.get<bool>());
  } else if (kind == "as_sym_ints" || kind == "as_sym_floats" || kind == "as_sym_bools") {
    for (const Json& item : *value) numbers.push_back(number_or_name_of(item));
  } else if (kind == "as_graph" || kind == "as_operator") {
    fail(
        "it takes a graph of its own (torch.cond, map, scan, while_loop, or torch.autocast inside of forward); levin "
        "runs straight programs: compute both sides and choose by torch.where, write the loop out, and leave autocast "
        "to the trainer's precision");
  } else {
    fail("an argument of the kind '" + kind + "' is not supported");
  }
  return numbers;
}

Node::Output output_of(const Json& json) {
  const auto [kind, value] = of_union(json);
  if (kind == "as_none") return std::optional<Name>();
  if (kind == "as_tensor") return std::optional<Name>(name_of(*value));
  if (kind == "as_tensors") return names_of(*value);
  if (kind == "as_optional_tensor") return optional_name_of(*value);
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
    const NumberOrName number = number_or_name_of(*value);
    if (const auto* name = std::get_if<Name>(&number)) return std::optional<Name>(*name);
    return std::optional<Name>();  // a number that was known at export
  }
  fail("an output of the kind '" + kind + "' is not supported");
}

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
          {input.at("name").get<std::string>(), argument_of(input.at("arg")),
           input.contains("kind") && input["kind"].is_number_integer() && integer(input["kind"]) == 2});
    for (const Json& output : json.at("outputs")) node.outputs.push_back(output_of(output));
  } catch (const UsageError& error) {
    fail("node '" + node.name + "' (" + node.target + "): " + error.what());
  }
  const Json& metadata = json.at("metadata");
  if (metadata.contains("nn_module_stack"))
    node.modules = module_stack_of(metadata["nn_module_stack"].get<std::string>());
  if (metadata.contains("stack_trace")) node.source_line = source_line_of(metadata["stack_trace"].get<std::string>());
  return node;
}

constexpr int kMostNested = 16;

std::string value_name_of(const Json& json) {
  const auto [kind, value] = of_union(json);
  if (kind == "as_tensor") return name_of(*value).text;
  if (kind == "as_sym_int" && value->contains("as_name")) return (*value)["as_name"].get<std::string>();
  fail("a value of the kind '" + kind + "' goes into or out of a graph of its own");
}

void add_nodes(ExportedProgram& program, const Json& nodes, std::optional<bool> gradients, int depth);

/// What torch.no_grad or torch.enable_grad surrounds: the nodes run in its mode, as if they stood in the program.
void add_with_grad_mode(ExportedProgram& program, const Json& json, int depth) {
  if (depth > kMostNested) fail("graphs are nested too deeply");
  const Json& inputs = json.at("inputs");
  const bool gradients = inputs.at(0).at("arg").at("as_bool").get<bool>();
  const Json& graph = inputs.at(1).at("arg").at("as_graph").at("graph");
  std::vector<std::string> arguments, results;
  for (size_t i = 2; i < inputs.size(); ++i) arguments.push_back(value_name_of(inputs.at(i).at("arg")));
  for (const Json& output : json.at("outputs")) {
    const Node::Output made = output_of(output);
    const auto* name = std::get_if<std::optional<Name>>(&made);
    if (name != nullptr && *name)
      results.push_back((*name)->text);
    else if (const auto* names = std::get_if<std::vector<Name>>(&made))
      for (const Name& each : *names) results.push_back(each.text);
  }
  ExportedProgram inner;
  add_nodes(inner, graph.at("nodes"), gradients, depth + 1);
  Subgraph subgraph{{}, {}, std::move(inner.nodes), std::move(inner.tensors)};
  for (const Json& input : graph.at("inputs")) subgraph.inputs.push_back(value_name_of(input));
  for (const Json& output : graph.at("outputs")) subgraph.outputs.push_back(value_name_of(output));
  for (const auto& [name, meta] : graph.at("tensor_values").items()) subgraph.tensors[name] = tensor_meta_of(meta);
  append_inlined(program, std::move(subgraph), arguments, results, json.value("name", std::string("graph")) + "/");
}

void add_nodes(ExportedProgram& program, const Json& nodes, std::optional<bool> gradients, int depth) {
  for (const Json& json : nodes) {
    if (json.at("target") == kWithGradMode) {
      add_with_grad_mode(program, json, depth);
      continue;
    }
    Node node = node_of(json);
    if (!node.gradients) node.gradients = gradients;
    program.nodes.push_back(std::move(node));
  }
}

Input input_of(const Json& json) {
  const auto [kind, value] = of_union(json);
  Input input;
  if (kind == "user_input") {
    const auto [type, argument] = of_union(value->at("arg"));
    if (type == "as_tensor") {
      input.value = name_of(*argument).text;
    } else if (type == "as_sym_int" || type == "as_sym_float" || type == "as_sym_bool" || type == "as_custom_obj") {
      fail("an input of forward is a number or an object that changes; give it as a tensor, or fix it at export");
    } else {
      input.kind = InputKind::UserConstant;
    }
  } else if (kind == "constant_input") {
    input.kind = InputKind::UserConstant;
    input.value = value->at("name").get<std::string>();
  } else if (kind == "parameter") {
    input = {InputKind::Parameter, name_of(value->at("arg")).text, value->at("parameter_name").get<std::string>()};
  } else if (kind == "buffer") {
    input = {InputKind::Buffer, name_of(value->at("arg")).text, value->at("buffer_name").get<std::string>(),
             value->at("persistent").get<bool>()};
  } else if (kind == "tensor_constant") {
    input = {InputKind::Constant, name_of(value->at("arg")).text, value->at("tensor_constant_name").get<std::string>(),
             false};
  } else {
    fail("the program has an input of the kind '" + kind + "', which levin cannot make");
  }
  return input;
}

Output output_spec_of(const Json& json) {
  const auto [kind, value] = of_union(json);
  if (kind == "buffer_mutation")
    return {OutputKind::BufferMutation, name_of(value->at("arg")).text, value->at("buffer_name").get<std::string>()};
  if (kind == "loss_output") return {OutputKind::User, name_of(value->at("arg")).text, ""};
  if (kind == "user_output") {
    const auto [type, argument] = of_union(value->at("arg"));
    if (type == "as_tensor") return {OutputKind::User, name_of(*argument).text, ""};
    return {OutputKind::UserConstant, "", ""};
  }
  if (kind == "user_input_mutation") fail("forward changes one of its inputs in place; let it work on a clone()");
  if (kind == "parameter_mutation") fail("forward assigns a parameter, which only an optimizer may do");
  fail("the program has an output of the kind '" + kind + "', which levin does not know");
}

void check_kind(const Json& json) {
  const Json& version = json.at("schema_version");
  if (const int64_t major = integer(version.at("major")); major != kSchemaMajor)
    fail("written in version " + std::to_string(major) + " of torch.export's schema, levin reads version " +
         std::to_string(kSchemaMajor) + "; export it with the PyTorch that levin is built with, or one near it");
  for (const Json& dialect : json.value("verifiers", Json::array()))
    if (dialect != "TRAINING")
      fail(
          "decomposed for inference (run_decompositions, or torch.export.export of PyTorch before 2.6): such a program "
          "does not train; save what torch.export.export(model, example_inputs) returns, before any decomposition");
}

ExportedProgram program_of(const Json& json) {
  check_kind(json);
  ExportedProgram program;
  const Json& module = json.at("graph_module");
  const Json& graph = module.at("graph");
  if (json.contains("torch_version")) program.torch_version = json["torch_version"].get<std::string>();
  for (const Json& spec : module.at("signature").at("input_specs")) program.inputs.push_back(input_of(spec));
  for (const Json& spec : module.at("signature").at("output_specs")) program.outputs.push_back(output_spec_of(spec));
  for (const auto& [name, meta] : graph.at("tensor_values").items()) program.tensors[name] = tensor_meta_of(meta);
  add_nodes(program, graph.at("nodes"), std::nullopt, 0);
  for (const auto& [symbol, range] : json.at("range_constraints").items()) {
    Range& bounds = program.ranges[symbol];
    if (!range.at("min_val").is_null()) bounds.least = integer(range["min_val"]);
    if (!range.at("max_val").is_null()) bounds.most = integer(range["max_val"]);
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
  return read(Json::parse(text));
} catch (const Json::exception& error) {
  throw UsageError(file, ": damaged, or not a program of torch.export: ", error.what());
} catch (const UsageError& error) {
  throw UsageError(file, ": ", error.what());
}

}  // namespace

ExportedProgram parse_program(std::string_view json, const std::string& file) { return parsed(json, file, program_of); }

std::map<std::string, StoredTensor> parse_stored_tensors(std::string_view text, const std::string& file) {
  return parsed(text, file, [](const Json& json) {
    std::map<std::string, StoredTensor> tensors;
    for (const auto& [name, entry] : json.at("config").items()) {
      if (entry.at("use_pickle").get<bool>() || entry.at("tensor_meta").is_null())
        fail("'" + name + "' is an object of Python or a subclass of Tensor; levin trains plain tensors");
      tensors.emplace(name, StoredTensor{entry.at("path_name").get<std::string>(), entry.at("is_param").get<bool>(),
                                         tensor_meta_of(entry["tensor_meta"])});
    }
    return tensors;
  });
}

}  // namespace levin::program
