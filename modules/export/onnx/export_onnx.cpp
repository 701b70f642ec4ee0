#include <levin/modules/export/onnx/export_onnx.h>
#include <levin/core/system/error.h>
#include <levin/modules/export/onnx/call.h>
#include <levin/modules/program/node_names.h>
#include <levin/modules/program/size_expression.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

namespace levin::onnx {
namespace {

using program::ExportedProgram, program::InputKind, program::Name;

const Converters& converters() {
  static const Converters all = [] {
    Converters made;
    add_elementwise(made);
    add_shapes(made);
    add_reductions(made);
    add_layers(made);
    add_antialiased_resize(made);
    add_quantization(made);
    add_recurrent(made);
    return made;
  }();
  return all;
}

class Maker {
 public:
  Maker(const ExportedProgram& program, const program::ProgramTensors& tensors, const ModelText& text)
      : program_(program), text_(text), builder_(model_) {
    model_.name = text.name;
    model_.metadata = text.metadata;
    add_inputs(tensors);
    for (size_t i = 0; i < program.nodes.size(); ++i) {
      const program::Node& node = program.nodes[i];
      if (const std::string_view name = program::aten_name(node.target); !name.empty() && name != "sym_size")
        add_node(node, i);
      else
        add_size(node);
    }
    add_outputs();
    add_class_names();
    drop_unread();
  }
  Model take() { return std::move(model_); }

 private:
  void add_inputs(const program::ProgramTensors& tensors) {
    std::map<std::string, at::Tensor> known(tensors.weights.begin(), tensors.weights.end());
    known.insert(tensors.constants.begin(), tensors.constants.end());
    size_t next = 0;
    for (const program::Input& input : program_.inputs) {
      if (input.kind == InputKind::UserTensor) {
        const std::string& name = text_.inputs.at(next++);
        model_.inputs.push_back(info(name, program_.tensors.at(input.value)));
        values_.names[input.value] = name;
      } else {
        const at::Tensor tensor = known.at(input.target).detach().cpu().contiguous();
        model_.initializers.emplace_back(input.target, tensor);
        values_.names[input.value] = input.target;
        values_.tensors[input.value] = tensor;
      }
    }
  }

  ValueInfo info(const std::string& name, const program::TensorMeta& meta) {
    ValueInfo value{name, meta.dtype, {}};
    for (const program::Size& size : meta.sizes) {
      if (const auto* number = std::get_if<int64_t>(&size)) {
        value.sizes.emplace_back(*number);
        continue;
      }
      const auto& expression = std::get<std::string>(size);
      const auto symbol = program::symbol_of(expression);
      const auto known = symbol ? text_.sizes.find(*symbol) : text_.sizes.end();
      if (known != text_.sizes.end())
        value.sizes.emplace_back(known->second);
      else  // another one for each expression
        value.sizes.emplace_back(
            expressions_.emplace(expression, "size_" + std::to_string(expressions_.size())).first->second);
    }
    return value;
  }

  /// A whole number that follows sizes, as a tensor of one element.
  void add_size(const program::Node& node) {
    const Call call(program_, node, values_, builder_);
    if (!program::aten_name(node.target).empty()) {
      const int64_t dim = call.integer("dim");
      return call.give(call.add("Shape", {call.value("self")}, {{"start", dim}, {"end", dim + 1}}));
    }
    static const std::map<std::string, std::string> functions = {
        {"_operator.add", "Add"}, {"_operator.sub", "Sub"}, {"_operator.mul", "Mul"}, {"_operator.floordiv", "Div"}};
    const auto function = functions.find(node.target);
    if (function == functions.end()) call.refuse("computes a size by " + node.target);
    call.give(call.add(function->second, {call.sizes("a"), call.sizes("b")}));
  }

  void add_node(const program::Node& node, size_t index) {
    const Call call(program_, node, values_, builder_);
    std::string name(program::aten_name(node.target));
    if (name.size() > 1 && name.ends_with('_') && !converters().contains(name)) {
      check_not_read_again(node, index, call);
      name.pop_back();
    }
    const auto found = converters().find(name);
    if (found == converters().end()) call.refuse("has no counterpart in ONNX that levin writes");
    found->second(call);
  }

  /// An operator in place makes a new value here: nobody may read the memory under another name.
  void check_not_read_again(const program::Node& node, size_t index, const Call& call) const {
    static const std::set<std::string_view> views = {"view",      "reshape",   "flatten",    "select",   "slice",
                                                     "narrow",    "transpose", "t",          "permute",  "squeeze",
                                                     "unsqueeze", "expand",    "chunk",      "split",    "unbind",
                                                     "detach",    "alias",     "contiguous", "unflatten"};
    std::set<std::string> same_memory;
    const auto* changed = std::get_if<Name>(&node.inputs.front().value);
    if (changed != nullptr) same_memory.insert(changed->text);
    // Backwards to what it is a view of, then forwards to other views.
    for (size_t i = index; i-- > 0;) {
      const program::Node& before = program_.nodes[i];
      if (!views.contains(program::aten_name(before.target)) || before.inputs.empty()) continue;
      const auto* from = std::get_if<Name>(&before.inputs.front().value);
      for (const std::string& made : outputs_of(before))
        if (from != nullptr && same_memory.contains(made)) same_memory.insert(from->text);
    }
    for (const program::Input& input : program_.inputs)
      if (same_memory.contains(input.value)) call.refuse("changes an input, a parameter or a buffer in place");
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      const program::Node& other = program_.nodes[i];
      for (const program::Node::Input& input : other.inputs) {
        const bool reads = reads_any(input.value, same_memory);
        if (reads && i < index && views.contains(program::aten_name(other.target)))
          for (const std::string& made : outputs_of(other)) same_memory.insert(made);
        if (reads && i > index) call.refuse("changes a tensor in place that is read again");
      }
    }
  }

  static std::vector<std::string> outputs_of(const program::Node& node) {
    std::vector<std::string> names;
    for (const program::Node::Output& output : node.outputs)
      program::for_each_name(output, [&](const std::string& name) { names.push_back(name); });
    return names;
  }

  static bool reads_any(const program::Argument& argument, const std::set<std::string>& names) {
    bool reads = false;
    program::for_each_name(argument, [&](const std::string& name) { reads = reads || names.contains(name); });
    return reads;
  }

  /// Outputs have their own names, also one that is an input or another output.
  void add_outputs() {
    size_t next = 0;
    for (const program::Output& output : program_.outputs) {
      if (output.kind != program::OutputKind::User) throw UsageError("ONNX export: the program changes buffers");
      std::string name = text_.outputs.at(next++);
      for (const std::string& input : text_.inputs)
        if (input == name) name += "_output";
      model_.nodes.push_back({"Identity", {values_.names.at(output.value)}, {name}, {}});
      model_.outputs.push_back(info(name, program_.tensors.at(output.value)));
    }
  }

  /// The names of classes are an output of their own.
  void add_class_names() {
    const auto& names = text_.class_names;
    if (names.empty()) return;
    const ValueInfo& scores = model_.outputs.front();
    if (scores.sizes.size() != 2 || scores.sizes[1] != ValueInfo::Size(static_cast<int64_t>(names.size())))
      throw UsageError("ONNX export: ", names.size(), " names of classes need an output [samples, ", names.size(), "]");
    const std::string classes = "class_names";
    std::string output = "class";
    while (std::ranges::find(text_.outputs, output) != text_.outputs.end()) output += "_name";
    model_.texts.emplace_back(classes, names);
    const std::string place = builder_.add("ArgMax", {scores.name}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
    model_.nodes.push_back({"Gather", {classes, place}, {output}, {}});
    model_.outputs.push_back({output, std::nullopt, {scores.sizes[0]}});
  }

  /// What no output needs: weights of a recurrent layer, once they are in ONNX's order, or quantized ones that were
  /// transposed.
  void drop_unread() {
    std::set<std::string> read;
    for (const ValueInfo& output : model_.outputs) read.insert(output.name);
    std::vector<Node> kept;
    for (Node& node : std::ranges::reverse_view(model_.nodes)) {
      if (std::ranges::none_of(node.outputs, [&](const std::string& name) { return read.contains(name); })) continue;
      read.insert(node.inputs.begin(), node.inputs.end());
      kept.push_back(std::move(node));
    }
    std::ranges::reverse(kept);
    model_.nodes = std::move(kept);
    std::erase_if(model_.initializers, [&](const auto& one) { return !read.contains(one.first); });
  }

  const ExportedProgram& program_;
  const ModelText& text_;
  Model model_ = {};
  Builder builder_;
  Values values_ = {};
  std::map<std::string, std::string> expressions_ = {};
};

}  // namespace

Model model_of(const ExportedProgram& program, const program::ProgramTensors& tensors, const ModelText& text) {
  return Maker(program, tensors, text).take();
}

}  // namespace levin::onnx
