#include <levin/modules/export/canonical_program.h>
#include <levin/modules/program/node_names.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace levin::program {
namespace {

const std::string kAten = "torch.ops.aten.";
const std::string kTransposed = kAten + "t.default";

/// Keeps the named arguments, in this order; {"mat1", "input"} gives one another name.
void keep(Node& node, const std::vector<std::pair<std::string, std::string>>& names) {
  std::vector<Node::Input> kept;
  for (const auto& [name, new_name] : names)
    if (const Argument* value = find_argument(node, name)) kept.push_back({new_name, *value});
  node.inputs = std::move(kept);
}

std::vector<std::pair<std::string, std::string>> same(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& name : names) pairs.emplace_back(name, name);
  return pairs;
}

bool is_one(const Argument* value) {
  if (value == nullptr) return true;  // the default
  if (const auto* whole = std::get_if<int64_t>(value)) return *whole == 1;
  const auto* real = std::get_if<double>(value);
  return real != nullptr && *real == 1;
}

/// Python calls `x + 2` by the overload of tensors.
void rename_arithmetic(Node& node) {
  static const std::set<std::string> names = {"add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_"};
  const std::string name = node.target.substr(kAten.size());
  const size_t dot = name.find('.');
  if (name.substr(dot + 1) == "Scalar" && names.contains(name.substr(0, dot)))
    node.target = kAten + name.substr(0, dot) + ".Tensor";
}

void rename_convolution(Node& node, const ExportedProgram& program) {
  const auto& weight = std::get<Name>(*find_argument(node, "weight"));
  const std::string dims = std::to_string(program.tensors.at(weight.text).sizes.size() - 2) + "d";
  if (std::get<bool>(*find_argument(node, "transposed"))) {
    node.target = kAten + ("conv_transpose" + dims) + (dims == "1d" ? ".default" : ".input");
    return keep(node, same({"input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"}));
  }
  node.target = kAten + ("conv" + dims) + ".default";
  keep(node, same({"input", "weight", "bias", "stride", "padding", "dilation", "groups"}));
}

/// The same with padding "same" or "valid".
void rename_convolution_mode(Node& node, const ExportedProgram& program) {
  const auto& weight = std::get<Name>(*find_argument(node, "weight"));
  node.target = kAten + ("conv" + std::to_string(program.tensors.at(weight.text).sizes.size() - 2)) + "d.padding";
}

void rename_padding(Node& node) {
  static constexpr std::array kModes = {"reflect", "replicate", "circular", "constant"};  // at::padding_mode
  node.target = kAten + "pad.default";
  for (Node::Input& input : node.inputs)
    if (input.name == "mode") input.value = std::string(kModes.at(static_cast<size_t>(std::get<int64_t>(input.value))));
}

/// addmm(bias, x, t(weight)) is linear(x, weight, bias), and matmul(x, t(weight)) is linear(x, weight).
void make_linear(ExportedProgram& program) {
  std::map<std::string, size_t> transposed;  ///< values that `t` made: their nodes
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    Node& node = program.nodes[i];
    if (node.target == kTransposed) transposed[node.name] = i;
    const bool has_bias = node.target == kAten + "addmm.default";
    if (!has_bias && node.target != kAten + "matmul.default") continue;
    const auto& weight = std::get<Name>(*find_argument(node, has_bias ? "mat2" : "other"));
    const auto found = transposed.find(weight.text);
    const size_t dims = program.tensors.at(std::get<Name>(*find_argument(node, "self")).text).sizes.size();
    if (found == transposed.end() || (has_bias ? dims != 1 : dims < 2)) continue;
    if (!is_one(find_argument(node, "beta")) || !is_one(find_argument(node, "alpha"))) continue;
    node.target = kAten + "linear.default";
    if (has_bias)
      keep(node, {{"mat1", "input"}, {"mat2", "weight"}, {"self", "bias"}});
    else
      keep(node, {{"self", "input"}, {"other", "weight"}});
    node.inputs[1].value = program.nodes[found->second].inputs.front().value;
  }
}

/// Drops transposed weights that no node reads any more.
void drop_unread_transposes(ExportedProgram& program) {
  std::set<std::string> read;
  for (const Node& node : program.nodes)
    for (const Node::Input& input : node.inputs)
      for_each_name(input.value, [&](const std::string& name) { read.insert(name); });
  for (const Output& output : program.outputs) read.insert(output.value);
  std::erase_if(program.nodes, [&](const Node& node) {
    const bool is_unread = node.target == kTransposed && !read.contains(node.name);
    if (is_unread) program.tensors.erase(node.name);
    return is_unread;
  });
}

}  // namespace

void make_canonical(ExportedProgram& program) {
  for (Node& node : program.nodes) {
    if (node.target == kAten + "_convolution.default")
      rename_convolution(node, program);
    else if (node.target == kAten + "_convolution_mode.default")
      rename_convolution_mode(node, program);
    else if (node.target == kAten + "_pad_enum.default")
      rename_padding(node);
    else if (node.target.starts_with(kAten))
      rename_arithmetic(node);
  }
  make_linear(program);
  drop_unread_transposes(program);
}

}  // namespace levin::program
