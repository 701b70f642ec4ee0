#include <levin/modules/export/program_of_graph.h>
#include <levin/core/system/error.h>
#include <levin/modules/export/canonical_program.h>
#include <levin/modules/export/graph_argument.h>
#include <levin/modules/program/argument_text.h>
#include <levin/modules/program/node_names.h>
#include <levin/modules/program/program_json.h>
#include <levin/modules/recording/trace_watch.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace levin::program {
namespace {

using torch::jit::Value;
using GraphNode = torch::jit::Node;

class Converter {
 public:
  Converter(const torch::jit::Graph& graph, const RecordedInputs& inputs, bool is_inference)
      : graph_(graph), inputs_(inputs), is_inference_(is_inference) {
    for (size_t i = 0; i < inputs.inputs.size(); ++i) {
      const Input& input = inputs.inputs[i];
      const bool trains = input.kind == InputKind::Parameter && inputs.tensors[i].requires_grad();
      names_.insert(input.value);
      program_.tensors[input.value] = meta_of(inputs.tensors[i], trains);
      arguments_[graph.inputs()[i]] = Name{input.value};
      if (input.kind != InputKind::UserTensor) owners_[input.value] = parent_of(input.target);
    }
    for (const auto& [path, name] : inputs.modules) classes_[path] = name;
    for (const GraphNode* node : graph.nodes()) convert(*node);
    finish();
  }
  RecordedProgram take() { return {std::move(program_), std::move(constants_)}; }

 private:
  /// "add", "add_1", ...
  std::string unique(const std::string& base) {
    std::string name = base;
    for (int next = 1; !names_.insert(name).second; ++next) name = base + "_" + std::to_string(next);
    return name;
  }

  Argument constant(const at::Tensor& tensor) {
    for (size_t i = 0; i < inputs_.tensors.size(); ++i)
      if (recording::views_the_same(tensor, inputs_.tensors[i])) return Name{inputs_.inputs[i].value};
    for (size_t i = 0; i < constants_.size(); ++i)
      if (recording::views_the_same(tensor, constants_[i].second)) return Name{lifted_[i].value};
    if (tensor.layout() != at::kStrided) throw UsageError("uses a sparse tensor");
    const std::string target = "lifted_tensor_" + std::to_string(constants_.size());
    const std::string name = unique("c_" + target);
    program_.tensors[name] = meta_of(tensor, false);
    lifted_.push_back({InputKind::Constant, name, target, /*persistent=*/false});
    constants_.emplace_back(target, tensor.detach());
    return Name{name};
  }

  /// `type`: what the operator takes there, which tells a dtype from a number.
  Argument constant(const c10::IValue& value, const c10::TypePtr& type) {
    if (value.isNone()) return std::monostate();
    if (value.isTensor()) return constant(value.toTensor());
    if (value.isBool()) return value.toBool();
    if (value.isInt()) return number_argument(value.toInt(), type);
    if (value.isDouble()) return value.toDouble();
    if (value.isString()) return value.toStringRef();
    if (value.isDevice()) return value.toDevice();
    if (value.isList()) {
      std::vector<Argument> items;
      for (const c10::IValue& item : value.toListRef()) items.push_back(constant(item, nullptr));
      return list_argument(items, type);
    }
    throw UsageError("has an argument of type " + value.tagKind());
  }

  Argument argument(const Value& value, const c10::TypePtr& type) {
    if (const auto known = arguments_.find(&value); known != arguments_.end()) return known->second;
    const GraphNode& node = *value.node();
    if (node.kind() == c10::prim::Constant) return constant(*torch::jit::toIValue(&value), type);
    if (node.kind() == c10::prim::ListConstruct || node.kind() == c10::prim::TupleConstruct) {
      std::vector<Argument> items;
      for (const Value* item : node.inputs()) items.push_back(argument(*item, nullptr));
      return list_argument(items, type);
    }
    throw UsageError(c10::str("takes a value of ", node.kind().toQualString()));
  }

  /// The part of the module whose parameter or buffer the node takes, and those around it.
  std::vector<std::pair<std::string, std::string>> modules_of(const Node& node) const {
    std::vector<std::pair<std::string, std::string>> modules = {{"", classes_.at("")}};
    const auto visit = [&](const Name& name) {
      const auto owner = owners_.find(name.text);
      if (owner == owners_.end() || modules.size() > 1) return;
      const std::string& path = owner->second;
      for (size_t end = path.find('.'); !path.empty(); end = path.find('.', end + 1)) {
        const std::string part = path.substr(0, end);
        if (const auto found = classes_.find(part); found != classes_.end()) modules.emplace_back(part, found->second);
        if (end == std::string::npos) break;
      }
    };
    for (const Node::Input& input : node.inputs) {
      if (const auto* name = std::get_if<Name>(&input.value)) visit(*name);
      if (const auto* names = std::get_if<std::vector<Name>>(&input.value)) std::ranges::for_each(*names, visit);
    }
    return modules;
  }

  void convert(const GraphNode& from) {
    if (from.kind() == c10::prim::Constant || from.kind() == c10::prim::ListConstruct ||
        from.kind() == c10::prim::TupleConstruct || from.kind() == c10::prim::ListUnpack)
      return;
    const c10::FunctionSchema* const schema = from.maybeSchema();
    if (schema == nullptr || schema->name().rfind("aten::", 0) != 0)
      throw UsageError(c10::str("calls ", from.kind().toQualString(), ", no operator of ATen"));
    Node node;
    const std::string name = schema->name().substr(6);
    node.target =
        "torch.ops.aten." + name + "." + (schema->overload_name().empty() ? "default" : schema->overload_name());
    try {
      node.inputs = inputs_of(from, *schema);
    } catch (const UsageError& error) {
      throw UsageError("aten::" + name + " " + error.what());
    }
    if (name.ends_with('_')) check_changed(node, name);
    node.name = unique(name);
    node.modules = modules_of(node);
    const bool is_without_gradients = from.scopeName() == recording::kWithoutGradients;
    std::vector<std::string> made;
    for (size_t i = 0; i < from.outputs().size(); ++i)
      node.outputs.push_back(output(*from.outputs()[i], node, from.outputs().size() == 1, made));
    program_.nodes.push_back(node);
    if (is_inference_ || !is_without_gradients || name.ends_with('_')) return;
    for (const std::string& value : made) detach(value, node);
  }

  /// A program may change its buffers alone.
  void check_changed(const Node& node, const std::string& name) const {
    const auto* changed = node.inputs.empty() ? nullptr : std::get_if<Name>(&node.inputs.front().value);
    if (changed == nullptr) return;
    const auto input = std::ranges::find(inputs_.inputs, changed->text, &Input::value);
    if (input == inputs_.inputs.end() || input->kind == InputKind::Buffer) return;
    const bool is_parameter = input->kind == InputKind::Parameter;
    throw UsageError("changes ", is_parameter ? "a parameter" : "its input", " in place by aten::", name,
                     is_parameter ? "; keep such values in a buffer" : "; let it work on a clone()");
  }

  std::vector<Node::Input> inputs_of(const GraphNode& from, const c10::FunctionSchema& schema) {
    std::vector<Node::Input> inputs;
    size_t needed = 0;  // positional arguments up to the last one that differs from its default
    for (size_t i = 0; i < from.inputs().size(); ++i) {
      const c10::Argument& declared = schema.arguments().at(i);
      Argument value = argument(*from.inputs()[i], declared.real_type());
      const bool is_default = declared.default_value() &&
                              write_argument(program_, constant(*declared.default_value(), declared.real_type())) ==
                                  write_argument(program_, value);
      if (declared.kwarg_only() && is_default) continue;
      inputs.push_back({declared.name(), std::move(value), declared.kwarg_only()});
      if (!declared.kwarg_only() && !is_default) needed = inputs.size();
    }
    std::vector<Node::Input> kept;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (i < needed || inputs[i].is_keyword) kept.push_back(std::move(inputs[i]));
    return kept;
  }

  /// Names a tensor that a node makes, and notes its sizes.
  std::string tensor_of(const Value& value, const std::string& name) {
    const auto type = value.type()->cast<c10::TensorType>();
    const auto sizes = type == nullptr ? std::nullopt : type->sizes().concrete_sizes();
    const auto strides = type == nullptr ? std::nullopt : type->strides().concrete_sizes();
    if (!sizes || !strides || !type->scalarType()) throw UsageError("'" + name + "' is no tensor with strides");
    TensorMeta meta{.dtype = *type->scalarType(), .device = type->device().value_or(c10::kCPU)};
    meta.sizes.assign(sizes->begin(), sizes->end());
    meta.strides.assign(strides->begin(), strides->end());
    program_.tensors[name] = std::move(meta);
    arguments_[&value] = Name{name};
    made_by_[name] = &value;
    return name;
  }

  /// Results of nodes that have several are items of theirs, as in Python.
  Node::Output output(const Value& value, const Node& node, bool is_alone, std::vector<std::string>& made) {
    const auto entry = [&](const Value& one, const std::string& name) {
      made.push_back(tensor_of(one, name));
      return Name{name};
    };
    const bool is_list = value.type()->kind() == c10::TypeKind::ListType;
    if (!is_list) {
      if (value.type()->kind() != c10::TypeKind::TensorType) throw UsageError(node.target + " returns no tensor");
      return std::optional(entry(value, is_alone ? node.name : unique("getitem")));
    }
    std::vector<Name> names;
    for (const torch::jit::Use& use : value.uses())
      if (use.user->kind() == c10::prim::ListUnpack && names.empty())
        for (const Value* item : use.user->outputs()) names.push_back(entry(*item, unique("getitem")));
    return names;
  }

  /// What ran without gradients is a constant for all that follow.
  void detach(const std::string& value, const Node& made_by) {
    Node node;
    node.target = "torch.ops.aten.detach.default";
    node.modules = made_by.modules;
    node.name = unique("detach");
    node.inputs = {{"self", Name{value}}};
    node.outputs = {std::optional(Name{node.name})};
    program_.tensors[node.name] = program_.tensors.at(value);
    arguments_[made_by_.at(value)] = Name{node.name};
    program_.nodes.push_back(std::move(node));
  }

  void finish() {
    for (const Value* value : graph_.outputs()) {
      const Argument result = argument(*value, nullptr);
      const auto add = [&](const Name& name) { program_.outputs.push_back({OutputKind::User, name.text, ""}); };
      if (const auto* name = std::get_if<Name>(&result)) add(*name);
      if (const auto* names = std::get_if<std::vector<Name>>(&result)) std::ranges::for_each(*names, add);
    }
    const auto first_of_user = std::ranges::find(inputs_.inputs, InputKind::UserTensor, &Input::kind);
    program_.inputs.assign(inputs_.inputs.begin(), first_of_user);
    program_.inputs.insert(program_.inputs.end(), lifted_.begin(), lifted_.end());
    program_.inputs.insert(program_.inputs.end(), first_of_user, inputs_.inputs.end());
    for (const auto& [path, name] : inputs_.modules)
      if (!path.empty()) program_.modules.push_back(path);
  }

  const torch::jit::Graph& graph_;
  const RecordedInputs& inputs_;
  const bool is_inference_;
  ExportedProgram program_ = {};
  ProgramTensors::Named constants_ = {};
  std::vector<Input> lifted_ = {};  ///< the program's inputs for `constants_`
  std::set<std::string> names_ = {};
  std::map<std::string, std::string> owners_ = {}, classes_ = {};
  std::unordered_map<const Value*, Argument> arguments_ = {};
  std::map<std::string, const Value*> made_by_ = {};
};

}  // namespace

RecordedProgram program_of_graph(const torch::jit::Graph& graph, const RecordedInputs& inputs, bool is_inference) {
  RecordedProgram recorded = Converter(graph, inputs, is_inference).take();
  make_canonical(recorded.program);
  return recorded;
}

std::string named_operator(const Node& node) {
  constexpr std::string_view kAten = "torch.ops.";
  std::string name = node.target;
  if (name.starts_with(kAten)) name = name.substr(kAten.size());
  name = name.substr(0, name.rfind('.'));
  if (const size_t dot = name.find('.'); dot != std::string::npos) name.replace(dot, 1, "::");
  if (node.modules.empty() || node.modules.back().first.empty()) return name;
  return name + " of " + node.modules.back().first;
}

}  // namespace levin::program
